<?php
// SPDX-License-Identifier: Apache-2.0
// Two connections insert in turn; lastInsertId() is that of the own last insert, and so is LAST_INSERT_ID().
require __DIR__ . '/lib.php';
$p = [pdo(), pdo()];
$wrong = $ids = 0;
for ($i = 0; $i < 20; $i++) {
    $mine = [];
    foreach ($p as $k => $c) {
        $c->exec("INSERT INTO log (who, what) VALUES ('php$k', '$i')");
        $mine[$k] = $c->lastInsertId();
    }
    foreach ($p as $k => $c) {
        $ids++;
        $row = $c->query("SELECT MAX(id), LAST_INSERT_ID() FROM log WHERE who = 'php$k'")->fetch(PDO::FETCH_NUM);
        $wrong += (string) $row[0] === $mine[$k] && (string) $row[1] === $mine[$k] ? 0 : 1;
    }
}
answer(['wrong' => $wrong, 'ids' => $ids]);
