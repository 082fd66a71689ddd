<?php
// SPDX-License-Identifier: Apache-2.0
// One request of an application, by name: REQUEST. REUSE=p opens mysqli persistently, twice.
require __DIR__ . '/lib.php';
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$dsn = sprintf('mysql:host=%s;port=%d;dbname=app;charset=utf8mb4', getenv('DB_HOST'), getenv('DB_PORT'));
$strict = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

function connect_pdo(bool $emulate): PDO
{
    global $dsn;
    return new PDO($dsn, getenv('DB_USER'), getenv('DB_PASSWORD'), [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => $emulate]);
}

function place(PDO $db): void
{
    $st = $db->prepare('select * from `place` where `name` = ?');
    $st->execute(['app']);
    if ($st->fetchAll(PDO::FETCH_NUM) !== [['app']]) {
        throw new RuntimeException('wrong row');
    }
}

switch (getenv('REQUEST')) {
    case 'emulated':
        place(connect_pdo(true));
        break;
    case 'native':
        place(connect_pdo(false));
        break;
    case 'insert':
        connect_pdo(true)->exec("INSERT INTO log (who) VALUES ('request')");
        break;
    case 'laravel10':
        $db = connect_pdo(false);
        $db->exec('use `app`;');
        $db->prepare("set names 'utf8mb4' collate 'utf8mb4_unicode_ci'")->execute();
        $db->prepare('set time_zone="+00:00"')->execute();
        $db->prepare("set session sql_mode='$strict'")->execute();
        place($db);
        break;
    case 'laravel11':
        $db = connect_pdo(false);
        $db->exec("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci', SESSION sql_mode='$strict';");
        place($db);
        break;
    case 'wordpress':
        $db = new mysqli(getenv('DB_HOST'), getenv('DB_USER'), getenv('DB_PASSWORD'), '', (int) getenv('DB_PORT'));
        $db->query('SET NAMES utf8mb4');
        $db->query("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci'");
        $db->query('SELECT @@SESSION.sql_mode')->fetch_row();
        $db->query("SET SESSION sql_mode='NO_ENGINE_SUBSTITUTION'");
        $db->select_db('app');
        $db->query('SELECT * FROM place');
        $db->query('SELECT n FROM counters WHERE id = 1');
        break;
    case 'doctrine':
        $db = connect_pdo(true);
        $db->beginTransaction();
        $db->exec("INSERT INTO log (who) VALUES ('request')");
        $db->commit();
        break;
    case 'read_then_write':
        $db = connect_pdo(true);
        $db->beginTransaction();
        $db->query('SELECT n FROM counters WHERE id = 2')->fetchAll();
        $db->exec('UPDATE counters SET n = n + 1 WHERE id = 2');
        $db->commit();
        break;
    case 'nothing':
        $db = connect_pdo(true);
        $db->beginTransaction();
        $db->commit();
        break;
    case 'persistent': // COM_CHANGE_USER on the second
        for ($i = 0; $i < 2; $i++) {
            $db = new mysqli('p:' . getenv('DB_HOST'), getenv('DB_USER'), getenv('DB_PASSWORD'), 'app',
                (int) getenv('DB_PORT'));
            $db->close();
        }
        break;
    default:
        throw new RuntimeException('which request?');
}
echo json_encode(['ok' => true]), "\n";
