<?php
// SPDX-License-Identifier: Apache-2.0
// An application's process that stays: each line of its input is a piece of PHP as a JSON string, each line of its
// output what that returned, or {"error": [number, message]}. Local variables end with the piece, and so do their
// connections; what must live on is kept in $keep. A warning is an error: "Packets out of order" is one.
declare(strict_types=1);
require __DIR__ . '/lib.php';

set_error_handler(function (int $level, string $message): bool {
    throw new ErrorException($message, 0, $level);
});
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

/** @return mixed */
function piece(string $code, stdClass $keep)
{
    return eval($code);
}

$keep = new stdClass();
while (($line = fgets(STDIN)) !== false) {
    $failure = null;
    $value = null;
    try {
        $value = piece(json_decode($line, true, 4, JSON_THROW_ON_ERROR), $keep);
    } catch (Throwable $e) {
        $number = $e instanceof PDOException ? ($e->errorInfo[1] ?? 0) : $e->getCode();
        $failure = [(int) $number, get_class($e) . ': ' . $e->getMessage()];
        unset($e);
    }
    answer($failure ? ['error' => $failure] : ['value' => $value]);
    unset($value);
}
