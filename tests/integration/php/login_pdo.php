<?php
// SPDX-License-Identifier: Apache-2.0
// Connects, reads a parameter back through a prepared statement, and says over what.
require __DIR__ . '/lib.php';
$p = pdo();
$s = $p->prepare('SELECT ? AS v, DATABASE() AS d, CURRENT_USER() AS u');
$s->execute(["h\u{e9}llo"]);
$row = $s->fetch(PDO::FETCH_ASSOC);
$s->closeCursor();
$cipher = $p->query("SHOW STATUS LIKE 'Ssl_cipher'")->fetch(PDO::FETCH_NUM)[1];
$again = null;
if (env('DB_PERSISTENT') !== '') {
    $p = $s = null;
    $again = pdo()->query('SELECT 7')->fetchColumn();
}
answer($row + ['cipher' => $cipher, 'again' => $again]);
