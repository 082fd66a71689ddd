<?php
// SPDX-License-Identifier: Apache-2.0
// Holds a row lock in a transaction and sleeps in the server, until it is killed.
require __DIR__ . '/lib.php';
$p = pdo();
$p->beginTransaction();
$p->exec('UPDATE counters SET n = n + 1 WHERE id = 1');
$p->query('SELECT SLEEP(60)')->fetchAll();
$p->commit();
answer('never');
