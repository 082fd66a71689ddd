<?php
// SPDX-License-Identifier: Apache-2.0
// No mail, no requests to anybody, and no limit on how fast comments come.
function wp_mail()
{
    return true;
}

add_filter('pre_http_request', fn () => new WP_Error('offline', 'the test has no network'));
add_filter('comment_flood_filter', '__return_false');
add_filter('wp_is_application_passwords_available', '__return_true');
