<?php
// SPDX-License-Identifier: Apache-2.0
// The admin console by PDO (emulated or native prepares) and mysqli.
declare(strict_types=1);
require __DIR__ . '/lib.php';

$pdo = pdo();
$like = $pdo->prepare("SHOW POOLS LIKE 'app'");
$like->execute();
$rows = $like->fetchAll(PDO::FETCH_ASSOC);
$bound = $pdo->prepare('SHOW POOLS LIKE ?');
$bound->execute(['app']);
$m = my();
$pools = $m->query('SHOW POOLS');
answer([
    'pdo' => $rows[0],
    'like' => count($bound->fetchAll()),
    'help' => count($pdo->query('SHOW HELP')->fetchAll()),
    'kill' => error_of(fn () => $pdo->exec('KILL 12345')),
    'mysqli' => array_map(fn ($f) => $f->name, $pools->fetch_fields()),
    'prepared' => $m->query('SELECT DATABASE()')->fetch_row()[0],
]);
