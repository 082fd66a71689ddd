<?php
// SPDX-License-Identifier: Apache-2.0
// What the library scripts share. Where to connect comes from the environment (tests/lib/harness/php.py); what a script
// saw goes out as one line of JSON, a list of [what, value], which run.py compares with that of a direct run.
declare(strict_types=1);

// Libraries of PHP 7.4's time under a newer PHP: what they say about that is not ours to judge.
error_reporting(E_ALL & ~E_DEPRECATED & ~E_USER_DEPRECATED);

// Tables of scripts that run side by side must not meet.
define('PREFIX', getenv('PREFIX') ?: 'x_');
// Does no other such script run?
define('ALONE', (bool) getenv('ALONE'));
define('ROUNDS', (int) (getenv('ROUNDS') ?: 1));

$seen = [];

function saw(string $what, mixed $value): void
{
    global $seen;
    // The server's own words name the schema's objects: the same in every script but for the prefix.
    $seen[] = [$what, json_decode(str_replace(PREFIX, '', json_encode($value, JSON_THROW_ON_ERROR)), true)];
}

/** The class of what fn throws, and the server's error number. */
function thrown(callable $fn): array
{
    try {
        $fn();
    } catch (Throwable $e) {
        $pdo = $e;
        while ($pdo !== null && !$pdo instanceof PDOException) {
            $pdo = $pdo->getPrevious();
        }
        return [get_class($e), $pdo->errorInfo[1] ?? null, $pdo->errorInfo[2] ?? null];
    }
    return ['nothing'];
}

function finish(): never
{
    global $seen;
    echo json_encode($seen, JSON_THROW_ON_ERROR), "\n";
    exit(0);
}
