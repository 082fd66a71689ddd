<?php
// SPDX-License-Identifier: Apache-2.0
// Where to connect comes from the environment (tests/lib/harness/php.py); the answer is one line of JSON.
declare(strict_types=1);

function env(string $name, string $default = ''): string
{
    $v = getenv($name);
    return $v === false ? $default : $v;
}

/** @param array<int,mixed> $options */
function pdo(array $options = [], ?string $user = null, ?string $password = null, ?string $db = null): PDO
{
    $db ??= env('DB_NAME', 'app');
    $where = env('DB_UNIX') !== '' ? 'unix_socket=' . env('DB_SOCKET')
        : 'host=' . env('DB_HOST') . ';port=' . env('DB_PORT');
    $dsn = "mysql:$where;charset=utf8mb4" . ($db === '' ? '' : ";dbname=$db");
    if (env('DB_TLS') !== '') {
        $options += [PDO::MYSQL_ATTR_SSL_CA => '/dev/null', PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false];
    }
    $options += [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => env('DB_NATIVE') === '',
        PDO::ATTR_PERSISTENT => env('DB_PERSISTENT') !== ''];
    return new PDO($dsn, $user ?? env('DB_USER'), $password ?? env('DB_PASSWORD'), $options);
}

function my(string $prefix = '', int $flags = 0): mysqli
{
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    $m = mysqli_init();
    $unix = env('DB_UNIX') !== '';
    if (env('DB_TLS') !== '') {
        $flags |= MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT;
    }
    $m->real_connect($prefix . ($unix ? 'localhost' : env('DB_HOST')), env('DB_USER'), env('DB_PASSWORD'),
        env('DB_NAME', 'app'), $unix ? 0 : (int) env('DB_PORT'), $unix ? env('DB_SOCKET') : '', $flags);
    $m->set_charset('utf8mb4');
    return $m;
}

/** @param mixed $value */
function answer($value): void
{
    echo json_encode($value, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE), "\n";
}

/** The error of a call, as [driver code, message]; [0, ''] when there is none. */
function error_of(callable $f): array
{
    try {
        $f();
    } catch (PDOException $e) {
        return [(int) ($e->errorInfo[1] ?? $e->getCode()), $e->getMessage()];
    } catch (mysqli_sql_exception $e) {
        return [$e->getCode(), $e->getMessage()];
    }
    return [0, ''];
}
