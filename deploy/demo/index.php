<?php
// SPDX-License-Identifier: Apache-2.0
// The page of `make run`: a plain PHP application that opens a new PDO connection for each request, as under
// PHP-FPM. Reload it: the connection is new each time, while Sluice's backends stay the same few.
declare(strict_types=1);

$host = getenv('DEMO_DB_HOST') ?: '127.0.0.1';
$port = getenv('DEMO_DB_PORT') ?: '6033';
$started = hrtime(true);

/** @return array<string,mixed> what the page shows, read over one new connection */
function look(string $host, string $port): array
{
    $pdo = new PDO(
        "mysql:host=$host;port=$port;dbname=app;charset=utf8mb4",
        getenv('DEMO_DB_USER') ?: 'app',
        getenv('DEMO_DB_PASSWORD') ?: 'apppass',
        [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]
    );
    $pdo->beginTransaction();
    $pdo->exec('UPDATE visits SET n = n + 1 WHERE id = 1');
    $visits = (int) $pdo->query('SELECT n FROM visits WHERE id = 1')->fetchColumn();
    $pdo->commit();
    $orders = $pdo->prepare('SELECT order_id, order_no, customer, status, total FROM orders ORDER BY order_id DESC LIMIT ?');
    $orders->bindValue(1, 8, PDO::PARAM_INT);
    $orders->execute();
    return $pdo->query('SELECT CONNECTION_ID() AS id, VERSION() AS version')->fetch()
        + ['visits' => $visits, 'orders' => $orders->fetchAll()];
}

$error = null;
$seen = ['id' => '-', 'version' => '-', 'visits' => '-', 'orders' => []];
try {
    $seen = look($host, $port);
} catch (PDOException $e) {
    http_response_code(503);
    $error = $e->getMessage();
}
$took = number_format((hrtime(true) - $started) / 1e6, 1);
$h = static fn ($v): string => htmlspecialchars((string) $v, ENT_QUOTES);
?>
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice demo</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
  table { border-collapse: collapse; width: 100% }
  td, th { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #ddd }
  .error { background: #fee; padding: .5rem 1rem; border-left: 4px solid #c00 }
</style>
<h1>Sluice demo</h1>
<?php if ($error !== null) { ?>
<p class="error"><?= $h($error) ?></p>
<?php } ?>
<table>
  <tr><th>This request's connection</th><td>new, to <?= $h("$host:$port") ?>; CONNECTION_ID() <?= $h($seen['id']) ?></td></tr>
  <tr><th>Server</th><td><?= $h($seen['version']) ?></td></tr>
  <tr><th>Connect, transaction, three queries</th><td><?= $took ?> ms</td></tr>
  <tr><th>Visits so far</th><td><?= $h($seen['visits']) ?></td></tr>
</table>
<h2>Orders</h2>
<table>
  <tr><th>No</th><th>Customer</th><th>Status</th><th>Total</th></tr>
<?php foreach ($seen['orders'] as $o) { ?>
  <tr><td><?= $h($o['order_no']) ?></td><td><?= $h($o['customer']) ?></td><td><?= $h($o['status']) ?></td><td><?= $h($o['total']) ?></td></tr>
<?php } ?>
</table>
<p><a href="/">Again</a></p>
