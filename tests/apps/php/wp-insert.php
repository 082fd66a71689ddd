<?php
// SPDX-License-Identifier: Apache-2.0
// WordPress used as a library, as a plugin or a cron job does: posts by wp_insert_post() and reads them back.
declare(strict_types=1);
error_reporting(E_ALL & ~E_DEPRECATED);
$_SERVER['HTTP_HOST'] = 'apps.test';
require getenv('WP_ROOT') . '/wp-load.php';

$who = getenv('WHO');
wp_set_current_user(1);
$category = wp_insert_term("Category of $who", 'category');
$ids = [];
foreach (range(1, (int) getenv('POSTS')) as $n) {
    $id = wp_insert_post(['post_title' => "Post $n by $who", 'post_content' => "Words of $who: xylophone$who, nr $n.",
        'post_status' => 'publish', 'post_category' => [(int) $category['term_id']], 'tags_input' => ["tag$n", $who]], true);
    if (is_wp_error($id)) {
        throw new RuntimeException($id->get_error_message());
    }
    add_post_meta($id, 'nr', $n);
    wp_insert_comment(['comment_post_ID' => $id, 'comment_content' => "Comment $n of $who", 'comment_author' => $who,
        'comment_approved' => 1]);
    $ids[] = $id;
}
global $wpdb;
$first = $ids[0];
wp_update_post(['ID' => $first, 'post_content' => "Changed words of $who: xylophone$who"]);
$found = new WP_Query(['s' => "xylophone$who", 'posts_per_page' => 3, 'orderby' => 'ID', 'order' => 'ASC']);
$meta = new WP_Query(['meta_key' => 'nr', 'meta_value' => '2', 'tag' => strtolower($who)]);
set_transient("seen_$who", ['ids' => $ids], 60);
update_option("option_$who", ['n' => count($ids)]);
$wpdb->suppress_errors();
$broken = [$wpdb->query('SELECT nonesuch FROM wp_posts'), str_contains($wpdb->last_error, 'nonesuch')];
echo json_encode([
    'found' => [count($found->posts), (int) $found->found_posts, $found->posts[0]->post_title],
    'meta' => wp_list_pluck($meta->posts, 'post_title'),
    'comments' => array_sum(array_map('get_comments_number', $ids)),
    'tags' => count(wp_get_post_tags($first)),
    'revisions' => count(wp_get_post_revisions($first)),
    'transient' => get_transient("seen_$who") === ['ids' => $ids],
    'option' => get_option("option_$who"),
    'in category' => get_term($category['term_id'])->count,
    'error' => $broken,
    'insert id' => $wpdb->insert('wp_options', ['option_name' => "raw_$who", 'option_value' => "it's"]) === 1
        && $wpdb->insert_id === (int) $wpdb->get_var("SELECT option_id FROM wp_options WHERE option_name = 'raw_$who'"),
    'deleted' => wp_delete_post($ids[1], true)->post_title,
]), "\n";
