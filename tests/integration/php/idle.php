<?php
// SPDX-License-Identifier: Apache-2.0
// Ten connections that idle until the file GO appears, and are used again then.
require __DIR__ . '/lib.php';
$p = [];
for ($i = 0; $i < 10; $i++) {
    $p[] = $c = pdo();
    $c->query('SELECT 1')->fetchAll();
}
echo "connected\n";
$end = microtime(true) + 30;
while (!file_exists(env('GO')) && microtime(true) < $end) {
    usleep(10000);
    clearstatcache();
}
$rows = 0;
foreach ($p as $c) {
    $rows += (int) $c->query('SELECT 1')->fetchColumn();
}
answer(['rows' => $rows]);
