<?php
// SPDX-License-Identifier: Apache-2.0
// The same with mysqli; with DB_PERSISTENT twice over the "p:" connection, which sends COM_CHANGE_USER.
require __DIR__ . '/lib.php';
$persistent = env('DB_PERSISTENT') !== '';
$m = my($persistent ? 'p:' : '');
$s = $m->prepare('SELECT ? AS v, DATABASE() AS d, CURRENT_USER() AS u');
$v = "h\u{e9}llo";
$s->bind_param('s', $v);
$s->execute();
$row = $s->get_result()->fetch_assoc();
$s->close();
$again = null;
if ($persistent) {
    $m->query('SET @leak = 1');
    $m->close();
    $m = my('p:');
    $again = $m->query('SELECT 7, @leak')->fetch_row();
}
answer($row + ['again' => $again]);
