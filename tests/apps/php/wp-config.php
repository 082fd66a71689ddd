<?php
// SPDX-License-Identifier: Apache-2.0
// WordPress' configuration: linked into the unpacked package in the place of Debian's own.
define('DB_NAME', getenv('WP_DB'));
define('DB_USER', getenv('DB_USER'));
define('DB_PASSWORD', getenv('DB_PASSWORD'));
// Both of the forms that WordPress knows; a request says which (web.py), TCP if none does.
define('DB_HOST', ($_SERVER['WP_BY_SOCKET'] ?? getenv('WP_BY_SOCKET')) ? 'localhost:' . getenv('DB_SOCKET')
    : getenv('DB_HOST') . ':' . getenv('DB_PORT'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define("{$name}_KEY", "a test's key of $name");
    define("{$name}_SALT", "a test's salt of $name");
}
$table_prefix = 'wp_';
define('WP_HOME', 'http://apps.test');
define('WP_SITEURL', 'http://apps.test');
define('WPMU_PLUGIN_DIR', __DIR__ . '/wp-plugins');
define('WP_TEMP_DIR', sys_get_temp_dir());
define('WP_DEBUG', false);
// Scheduled tasks run when the test asks for them.
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISALLOW_FILE_MODS', true);
require_once ABSPATH . 'wp-settings.php';
