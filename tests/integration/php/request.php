<?php
// SPDX-License-Identifier: Apache-2.0
// One request of the FPM pattern: a new connection, a look whether the session is fresh, a committed increment. One
// in ten then leaves a transaction, temporary table or lock behind, and exits or is killed.
require __DIR__ . '/lib.php';

/** @return string[] what is not as in a fresh session */
function traces(PDO $p, string $db): array
{
    $row = $p->query('SELECT @@session.time_zone = @@global.time_zone, DATABASE(), @leak, @@autocommit,'
        . ' @@sql_mode = @@global.sql_mode')->fetch(PDO::FETCH_NUM);
    $wrong = [];
    $is = ['1', $db, null, '1', '1'];
    foreach ($row as $i => $v) {
        if (($v === null ? null : (string) $v) !== $is[$i]) {
            $wrong[] = "column $i is " . var_export($v, true);
        }
    }
    if (error_of(fn () => $p->query('SELECT * FROM app.tmp_leak'))[0] !== 1146) {
        $wrong[] = 'a temporary table of another';
    }
    // Refused with 1568 inside a transaction, on every server.
    if (error_of(fn () => $p->exec('SET TRANSACTION ISOLATION LEVEL READ COMMITTED'))[0] !== 0) {
        $wrong[] = 'a transaction of another';
    }
    return $wrong;
}

mt_srand((int) $_GET['n']);
$user = mt_rand(0, 1) ? 'app' : 'app2';
$found = (bool) mt_rand(0, 1);
$db = ['app', 'app2', 'shop'][mt_rand(0, 2)];
$zone = sprintf('+%02d:00', mt_rand(1, 12));
$k = mt_rand(1, 10);

$p = pdo([PDO::MYSQL_ATTR_FOUND_ROWS => $found], $user, $user . 'pass', $db);
$wrong = traces($p, $db);
if ((string) $p->query('SELECT name FROM place')->fetchColumn() !== $db) {
    $wrong[] = 'another schema';
}
// A no-op UPDATE counts its row only with CLIENT_FOUND_ROWS.
if ($p->exec('UPDATE place SET name = name') !== ($found ? 1 : 0)) {
    $wrong[] = 'another FOUND_ROWS';
}
$p->exec("SET time_zone = '$zone'");
$counted = 0;
$p->beginTransaction();
$p->exec("UPDATE app.counters SET n = n + 1 WHERE id = $k");
$p->commit();
$counted = 1;
if ($p->query('SELECT @@time_zone')->fetchColumn() !== $zone) {
    $wrong[] = 'the time zone changed underway';
}
if (mt_rand(0, 4) === 0) {
    $lock = 'lk' . ($k - 1);
    if ((int) $p->query("SELECT GET_LOCK('$lock', 20)")->fetchColumn() !== 1) {
        $wrong[] = "the lock $lock is not free";
    }
    $p->query("SELECT RELEASE_LOCK('$lock')")->fetchAll();
}
if ($_GET['kind'] === 'leave') {
    $p->exec("SET @leak = 'left'");
    switch ($_GET['what']) {
        case 'trx':
            $p->beginTransaction();
            $p->exec("UPDATE app.counters SET n = n + 1000 WHERE id = $k");
            break;
        case 'temp':
            $p->exec('CREATE TEMPORARY TABLE app.tmp_leak (x INT)');
            break;
        case 'lock':
            $p->query("SELECT GET_LOCK('lk" . ($k - 1) . "', 20)")->fetchAll();
            break;
    }
    if ($_GET['how'] === 'kill') {
        // FPM has no pcntl and so no SIGKILL by name. The increment is committed; what counts it is the answer, which this one does not give.
        $p->exec('ROLLBACK');
        $p->exec("UPDATE app.counters SET n = n - 1 WHERE id = $k");
        $p->beginTransaction();
        $p->exec("UPDATE app.counters SET n = n + 1000 WHERE id = $k");
        posix_kill(getmypid(), 9);
    }
}
answer(['wrong' => $wrong, 'counted' => $counted]);
