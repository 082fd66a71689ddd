# SPDX-License-Identifier: Apache-2.0
"""Debian's WordPress: installed, posted to, read, searched and administered through Sluice, under PHP-FPM."""
import pathlib
import re
import xmlrpc.client

import packages
from harness import php
from harness.cases import Skip, case
from watch import Watch
from web import Browser, Site, side_by_side

PHP = pathlib.Path(__file__).resolve().parent / "php"
ADMIN = ("admin", "a test's passw0rd")


def root():
    """The unpacked package, with our configuration in the place of Debian's, which looks below /etc."""
    folder = packages.tree("wordpress") / "usr/share/wordpress"
    config = folder / "wp-config.php"
    if not (config.is_symlink() and config.samefile(PHP / "wp-config.php")):
        config.unlink()
        config.symlink_to(PHP / "wp-config.php")
    return folder


def install(b):
    assert "wp-admin/install.php" in b.get("/", status=302).location
    page = b.post("/wp-admin/install.php?step=2", {
        "weblog_title": "Sluice's blog", "user_name": ADMIN[0], "admin_password": ADMIN[1], "admin_password2": ADMIN[1],
        "pw_weak": "1", "admin_email": "admin@apps.test", "blog_public": "1", "language": ""})
    assert "Success!" in page.body, page.text()[:1500]


def log_in(site, **extra):
    b = Browser(site, **extra)
    b.get("/wp-login.php")
    r = b.post("/wp-login.php", {"log": ADMIN[0], "pwd": "wrong", "testcookie": "1"})
    assert "is incorrect" in r.text()
    r = b.post("/wp-login.php", {"log": ADMIN[0], "pwd": ADMIN[1], "testcookie": "1", "wp-submit": "Log In",
                                 "redirect_to": "http://apps.test/wp-admin/"}, status=302)
    assert r.location.endswith("/wp-admin/"), r.location
    assert "Dashboard" in b.get("/wp-admin/index.php").text()
    return b


def rest(b):
    """What the block editor does: REST with the user's cookies and a nonce."""
    nonce = b.get("/wp-admin/admin-ajax.php?action=rest-nonce").body.strip()

    def call(method, route, value=None, status=(200, 201)):
        target = f"/index.php?rest_route={route}"
        headers = {"X-WP-Nonce": nonce}
        r = b.get(target, headers=headers, status=status) if method == "GET" else b.post_json(
            target, value or {}, headers={**headers, "X-HTTP-Method-Override": method}, status=status)
        return r.json()
    return call


def posts_by_rest(b):
    call = rest(b)
    made = call("POST", "/wp/v2/posts", {"title": "By REST", "status": "draft", "content": "<p>A quagga by REST.</p>"})
    assert call("PUT", f"/wp/v2/posts/{made['id']}", {"status": "publish", "tags": []})["status"] == "publish"
    call("POST", "/wp/v2/categories", {"name": "Zoology"})
    call("POST", "/wp/v2/comments", {"post": made["id"], "content": "A comment by REST"})
    listed = call("GET", "/wp/v2/posts&search=quagga")
    assert [p["title"]["rendered"] for p in listed] == ["By REST"], listed
    assert call("GET", "/wp/v2/posts/99999", status=404)["code"] == "rest_post_invalid_id"
    return made["id"]


def post_by_xmlrpc(b):
    def call(method, *args):
        body = xmlrpc.client.dumps(args, method).encode()
        return xmlrpc.client.loads(b.request("POST", "/xmlrpc.php", body, {"Content-Type": "text/xml"}).body)[0][0]
    made = int(call("wp.newPost", 1, *ADMIN, {"post_title": "By XML-RPC", "post_status": "publish",
                                              "post_content": "An okapi by XML-RPC."}))
    assert call("wp.getPost", 1, *ADMIN, str(made))["post_title"] == "By XML-RPC"
    assert len(call("wp.getPosts", 1, *ADMIN, {"number": 100})) >= 3
    return made


def comment(site, b, post):
    """A stranger's comment waits, is approved by the administrator, and is read by all."""
    stranger = Browser(site)
    form = {"comment_post_ID": post, "comment_parent": 0, "author": "Stranger", "email": "s@apps.test", "url": "",
            "comment": "Is it a zebra?"}
    r = stranger.post("/wp-comments-post.php", form, status=302)
    number = re.search(r"comment-(\d+)", r.location)[1]
    assert "Is it a zebra?" not in Browser(site).get(f"/?p={post}").text()
    waiting = b.get("/wp-admin/edit-comments.php?comment_status=moderated")
    link = waiting.link(rf"comment\.php\?c={number}&action=approvecomment&_wpnonce=\w+")
    b.get(f"/wp-admin/{link}", status=302)
    assert "Is it a zebra?" in Browser(site).get(f"/?p={post}").text()
    b.post("/wp-comments-post.php", {"comment_post_ID": post, "comment_parent": number, "comment": "No."}, status=302)
    r = stranger.post("/wp-comments-post.php", form, status=409)
    assert "Duplicate comment" in r.text()


def read(site, rest_post, xmlrpc_post):
    b = Browser(site)
    front = b.get("/").text()
    assert "Sluice's blog" in front and "By REST" in front and "By XML-RPC" in front, front[:1500]
    assert "A quagga by REST." in b.get(f"/?p={rest_post}").text()
    found = b.get("/?s=okapi").text()
    assert "By XML-RPC" in found and "By REST" not in found, found[:1500]
    assert "By REST" not in b.get("/?s=nonesuchword").text()
    assert b.get("/?p=99999", status=404)
    assert "A quagga by REST." in b.get("/?feed=rss2").body
    assert f"?p={xmlrpc_post}" in b.get("/?feed=rss2").body
    assert "By REST" in b.get("/?cat=1").text()
    assert "apps.test" in b.get("/?sitemap=posts&sitemap-subtype=post&paged=1").body


def options(site, b):
    page = b.get("/wp-admin/options-general.php")
    changed = {"blogname": "Sluice’s “new” näme", "timezone_string": "Europe/Oslo", "WPLANG": "",
               "default_role": "subscriber", "start_of_week": "1"}
    b.post("/wp-admin/options.php", {**page.fields(), **changed}, status=302)
    assert "Sluice’s “new” näme" in Browser(site).get("/").text()
    page = b.get("/wp-admin/options-reading.php")
    b.post("/wp-admin/options.php", {**page.fields(), "posts_per_page": "3", "show_on_front": "posts"}, status=302)
    assert len(re.findall(r"<h2[^>]*wp-block-post-title", Browser(site).get("/").body)) == 3


def bin_it(site, b, post):
    listed = b.get("/wp-admin/edit.php")
    link = listed.link(rf"post\.php\?post={post}&action=trash&_wpnonce=\w+")
    b.get(f"/wp-admin/{link}", status=302)
    assert Browser(site).get(f"/?p={post}", status=404)
    listed = b.get("/wp-admin/edit.php?post_status=trash&post_type=post")
    link = listed.link(rf"post\.php\?post={post}&action=untrash&_wpnonce=\w+")
    b.get(f"/wp-admin/{link}", status=302)
    assert "draft" in str(rest(b)("GET", f"/wp/v2/posts/{post}&context=edit")["status"])


def administrate(b):
    for page in ("users.php", "plugins.php", "themes.php", "upload.php", "edit-comments.php", "post-new.php",
                 "edit-tags.php?taxonomy=category", "edit.php?s=okapi", "profile.php", "site-health.php", "tools.php"):
        assert "Howdy, admin" in b.get(f"/wp-admin/{page}").text(), page


def insert(t, folder, n, posts):
    """In a PHP process of its own."""
    got = t.php(PHP / "wp-insert.php", WP_DB="wp", WP_ROOT=folder, WHO=f"who{n}", POSTS=posts)
    wanted = {"found": [min(3, posts), posts, f"Post 1 by who{n}"], "meta": [f"Post 2 by who{n}"], "comments": posts,
              "tags": 2, "revisions": 1, "transient": True, "option": {"n": posts}, "in category": posts,
              "error": [False, True], "insert id": True, "deleted": f"Post 2 by who{n}"}
    assert got == wanted, f"wanted: {wanted}\n  got: {got}"


def crowd(n, t, site, folder, writers, requests):
    """One of several that use the site at once: readers, those who post by REST, and processes beside the site."""
    if n % 4 == 0:
        insert(t, folder, n, requests)
        return
    b = writers.get(n) or Browser(site, WP_BY_SOCKET="1" if n % 4 == 2 else "")
    call = rest(b) if n in writers else None
    for i in range(requests):
        if call:
            title = f"Crowd {n}.{i}"
            made = call("POST", "/wp/v2/posts", {"title": title, "status": "publish", "content": f"By {n}, {i}"})
            assert call("GET", f"/wp/v2/posts/{made['id']}")["title"]["rendered"] == title
        else:
            assert "Sluice" in b.get("/" if i % 2 else "/?s=quagga").text()


@case()
def wordpress_is_installed_posted_to_read_and_searched(t):
    if not php.fpm_binary():
        raise Skip("there is no php-fpm here (make deps)")
    packages.lacking("mysqli", "xml", "mbstring")
    folder = root()
    t.db.admin.query("CREATE DATABASE wp CHARACTER SET utf8mb4")
    t.defer(t.db.admin.query, "DROP DATABASE wp")
    t.db.admin.query("GRANT ALL ON wp.* TO app@'%'")
    with Watch(t, f"wordpress {packages.version('wordpress')}", pool_max=3, queue_timeout="60s") as f:
        site = Site(t.dir / "site", f, folder, children=6, WP_DB="wp")
        t.defer(site.stop)
        install(Browser(site))
        b = log_in(site)
        by_rest, by_xmlrpc = posts_by_rest(b), post_by_xmlrpc(Browser(site))
        insert(t, folder, 100, 3)
        comment(site, b, by_rest)
        read(site, by_rest, by_xmlrpc)
        if t.db.is_mariadb:
            administrate(b)
            b.get("/wp-cron.php")
        options(site, b)
        bin_it(site, log_in(site, WP_BY_SOCKET="1"), by_xmlrpc)
        # One after the other: WordPress keeps a user's sessions in one row, and loses one of two logins at once.
        writers = {n: log_in(site) for n in (1, 5)}
        side_by_side(8, crowd, t, site, folder, writers, 6 if t.db.is_mariadb else 3)
    wrong = [dict(zip(("title", "n"), r)) for r in t.db.admin.query(
        "SELECT post_title, COUNT(*) FROM wp.wp_posts WHERE post_title LIKE 'Crowd %' AND post_status = 'publish' "
        "GROUP BY 1 HAVING COUNT(*) <> 1").rows]
    assert not wrong, wrong
