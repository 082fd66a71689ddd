<?php
// SPDX-License-Identifier: Apache-2.0
// php fpm.php HOST PORT USER PASSWORD DATABASE pk|order|laravel emul|native PROCESSES SECS [persistent]
//
// What PHP-FPM does to a database: each process makes a new PDO per request, works, and drops it.
//   pk     a prepared SELECT by primary key
//   order  a prepared SELECT by order number and an UPDATE of that row
//   laravel  what Laravel's connector sends at connect (USE, SET NAMES, time_zone, sql_mode), then as pk
// Every row is compared with what the fixture put there. Prints one line of JSON: n good requests,
// errs (exceptions), wrong (a row that is not the one asked for). Exit 1 if there were any.

const ORDERS = 10000;
const START_AFTER_S = 0.05;

function connect(array $options): PDO
{
    $place = $options['host'][0] === '/'
        ? "unix_socket={$options['host']}"
        : "host={$options['host']};port={$options['port']}";

    $dsn = "mysql:$place;dbname={$options['database']};charset=utf8mb4";

    return new PDO($dsn, $options['user'], $options['password'], [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => $options['emulate'],
        PDO::ATTR_PERSISTENT => $options['persistent'],
    ]);
}

function requestByKey(PDO $pdo, int $id): bool
{
    $select = $pdo->prepare('SELECT order_id, order_no, status FROM orders WHERE order_id = ?');
    $select->execute([$id]);
    $row = $select->fetch(PDO::FETCH_ASSOC);

    return $row && (int) $row['order_id'] === $id && $row['order_no'] === sprintf('NO%08d', $id - 1);
}

function requestOrder(PDO $pdo, int $id): bool
{
    $select = $pdo->prepare('SELECT order_id, status FROM orders WHERE order_no = ?');
    $select->execute([sprintf('NO%08d', $id - 1)]);
    $row = $select->fetch(PDO::FETCH_ASSOC);
    $select = null;
    $update = $pdo->prepare("UPDATE orders SET status = 'paid', paid_at = NOW() WHERE order_id = ?");
    $update->execute([$row['order_id'] ?? 0]);

    return $row && (int) $row['order_id'] === $id;
}

function requestLaravel(PDO $pdo, int $id): bool
{
    $pdo->exec('use `sbtest`;');
    $pdo->prepare("set names 'utf8mb4' collate 'utf8mb4_unicode_ci'")->execute();
    $pdo->prepare('set time_zone="+00:00"')->execute();
    $pdo->prepare("set session sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'")->execute();

    return requestByKey($pdo, $id);
}

function work(array $options, float $startsAt): array
{
    $request = ['pk' => 'requestByKey', 'order' => 'requestOrder', 'laravel' => 'requestLaravel'][$options['workload']];
    $result = ['us' => [], 'errs' => 0, 'wrong' => 0, 'err' => ''];
    while (microtime(true) < $startsAt) {
        usleep(500);
    }
    $endsAt = $startsAt + $options['secs'];
    while (($began = hrtime(true)) && microtime(true) < $endsAt) {
        try {
            $pdo = connect($options);
            $right = $request($pdo, mt_rand(1, ORDERS));
            $pdo = null;
            if ($right) {
                $result['us'][] = intdiv(hrtime(true) - $began, 1000);
            } else {
                $result['wrong']++;
                $result['err'] = $result['err'] ?: 'a wrong row';
            }
        } catch (Throwable $e) {
            $pdo = null;
            $result['errs']++;
            $result['err'] = $result['err'] ?: $e->getMessage();
            usleep(1000);
        }
    }

    return $result;
}

function report(array $results, float $secs): int
{
    $us = array_merge(...array_column($results, 'us'));
    sort($us);
    $n = count($us);
    $errs = array_sum(array_column($results, 'errs'));
    $wrong = array_sum(array_column($results, 'wrong'));
    echo json_encode([
        'n' => $n,
        'errs' => $errs,
        'wrong' => $wrong,
        'qps' => round($n / $secs, 1),
        'p50' => $n ? $us[intdiv($n, 2)] / 1000 : 0,
        'p99' => $n ? $us[(int) ($n * .99)] / 1000 : 0,
        'err' => implode('; ', array_slice(array_unique(array_filter(array_column($results, 'err'))), 0, 3)),
    ]), "\n";

    return $errs || $wrong ? 1 : 0;
}

function main(array $argv): int
{
    if (count($argv) < 10) {
        fwrite(STDERR, "usage: fpm.php HOST PORT USER PASSWORD DATABASE pk|order|laravel emul|native PROCESSES SECS"
            . " [persistent]\n");
        return 2;
    }
    $options = array_combine(
        ['host', 'port', 'user', 'password', 'database', 'workload', 'mode', 'processes', 'secs'],
        array_slice($argv, 1, 9)
    );
    $options['emulate'] = $options['mode'] === 'emul';
    $options['persistent'] = ($argv[10] ?? '') === 'persistent';
    $startsAt = microtime(true) + START_AFTER_S;
    $files = [];
    for ($i = 0; $i < (int) $options['processes']; $i++) {
        $file = tempnam(sys_get_temp_dir(), 'fpm');
        $pid = pcntl_fork();
        if ($pid === 0) {
            mt_srand($i * 7919 + getmypid());
            file_put_contents($file, serialize(work($options, $startsAt)));
            exit(0);
        }
        $files[$pid] = $file;
    }
    $results = [];
    foreach ($files as $pid => $file) {
        pcntl_waitpid($pid, $status);
        $lost = ['us' => [], 'errs' => 1, 'wrong' => 0, 'err' => "process ended with status $status"];
        $results[] = unserialize(file_get_contents($file)) ?: $lost;
        unlink($file);
    }

    return report($results, (float) $options['secs']);
}

exit(main($argv));
