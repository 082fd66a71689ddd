<?php
// SPDX-License-Identifier: Apache-2.0
// The same with mysqli, which sends types once, long data apart, and reads a cursor row by row.
require __DIR__ . '/lib.php';
$m = my();
$names = [];
$s = $m->prepare('SELECT order_no FROM orders WHERE n = ?');
$i = 0;
$s->bind_param('i', $i);
for (; $i < 10; $i++) {
    $s->execute();
    $s->bind_result($name);
    $s->fetch();
    $names[] = $name;
    $s->free_result();
}
$s->close();
$n = $m->prepare('SELECT ? AS v');
$v = null;
$n->bind_param('s', $v);
$n->execute();
$null = $n->get_result()->fetch_row()[0];
$n->close();
$b = $m->prepare('SELECT LENGTH(?)');
$empty = null;
$b->bind_param('b', $empty);
for ($k = 0; $k < 4; $k++) {
    $b->send_long_data(0, str_repeat('x', 50000));
}
$b->execute();
$blob = (int) $b->get_result()->fetch_row()[0];
$b->close();
$c = $m->prepare('SELECT n FROM orders ORDER BY n');
$c->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
$c->execute();
$c->bind_result($row);
$cursor = [];
while ($c->fetch()) {
    $cursor[] = $row;
}
$c->close();
answer(['names' => $names, 'null' => $null, 'blob' => $blob, 'cursor' => $cursor,
    'again' => (int) $m->query('SELECT 5')->fetch_row()[0]]);
