<?php
// SPDX-License-Identifier: Apache-2.0
// LOAD DATA LOCAL of a file that only the client can name.
require __DIR__ . '/lib.php';
$p = pdo([PDO::MYSQL_ATTR_LOCAL_INFILE => true]);
$rows = $p->exec('LOAD DATA LOCAL INFILE ' . $p->quote(env('FILE')) . ' INTO TABLE log (what)');
answer(['rows' => $rows, 'what' => $p->query('SELECT what FROM log ORDER BY id LIMIT 1')->fetchColumn()]);
