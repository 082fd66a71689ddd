<?php
// SPDX-License-Identifier: Apache-2.0
// Native prepared statements of PDO: repeated execution, NULL, a large parameter, unbuffered reading.
require __DIR__ . '/lib.php';
$p = pdo();
$names = [];
$s = $p->prepare('SELECT order_no FROM orders WHERE n = ?');
for ($i = 0; $i < 10; $i++) {
    $s->execute([$i]);
    $names[] = $s->fetchColumn();
    $s->closeCursor();
}
$n = $p->prepare('SELECT ? AS v');
$n->bindValue(1, null, PDO::PARAM_NULL);
$n->execute();
$null = $n->fetchColumn();
$b = $p->prepare('SELECT LENGTH(?)');
$b->bindValue(1, str_repeat('x', 200000), PDO::PARAM_LOB);
$b->execute();
$blob = (int) $b->fetchColumn();
$p->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
$u = $p->prepare('SELECT n FROM orders ORDER BY n');
$u->execute();
$cursor = array_map('intval', $u->fetchAll(PDO::FETCH_COLUMN));
$u = null;
answer(['names' => $names, 'null' => $null, 'blob' => $blob, 'cursor' => $cursor,
    'again' => (int) $p->query('SELECT 5')->fetchColumn()]);
