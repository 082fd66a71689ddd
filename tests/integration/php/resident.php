<?php
// SPDX-License-Identifier: Apache-2.0
// A process that keeps its connection after a request (settings, a transaction, prepared reads, an id asked for), and
// serves one more when the file GO appears: how long that took, in seconds.
require __DIR__ . '/lib.php';
$number = (int) env('NUMBER');
$db = pdo([PDO::ATTR_EMULATE_PREPARES => (bool) ($number % 2)]);
$db->exec("SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_TRANS_TABLES', time_zone = '+00:00'");
$db->beginTransaction();
$db->prepare('INSERT INTO log (who, what) VALUES (?, ?)')->execute(["process $number", 'request']);
$id = (int) $db->lastInsertId();
$db->prepare('UPDATE counters SET n = n + 1 WHERE id = ?')->execute([1 + $number % 10]);
$db->commit();
$read = $db->prepare('SELECT who FROM log WHERE id = ?');
$read->execute([$id]);
$rows = $read->fetchAll(PDO::FETCH_COLUMN);
echo "served\n";
$end = microtime(true) + 120;
while (!file_exists(env('GO')) && microtime(true) < $end) {
    usleep(2000);
    clearstatcache();
}
$began = hrtime(true);
$read->execute([$id]);
$again = $read->fetchAll(PDO::FETCH_COLUMN);
$took = (hrtime(true) - $began) / 1e9;
answer(['right' => $rows === ["process $number"] && $again === $rows, 'seconds' => $took]);
