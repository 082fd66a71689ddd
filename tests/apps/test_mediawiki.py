# SPDX-License-Identifier: Apache-2.0
"""Debian's MediaWiki: installed, edited by its maintenance scripts and its API, read, searched, through Sluice."""
import subprocess

import packages
from harness import php
from harness.cases import Skip, case
from harness.sluice import clean_env
from watch import Watch
from web import HOST, Browser, Site, side_by_side

ADMIN = ("Admin", "a test's passw0rd")
REQUESTS = 3
SETTINGS = """
// Of the test's own.
$wgShowExceptionDetails = true;
$wgJobRunRate = 0;
$wgEnableUploads = false;
$wgMainCacheType = CACHE_DB;
$wgSessionCacheType = CACHE_DB;
$wgCacheDirectory = __DIR__ . '/cache';
$wgRateLimits = [];
$wgPasswordAttemptThrottle = false;
$wgPhpCli = PHP_BINARY;
// A request says by which way it comes.
if ( $_SERVER['WIKI_BY_SOCKET'] ?? false ) {
    $wgDBserver = 'localhost:' . getenv( 'DB_SOCKET' );
}
"""


class Wiki:
    """The unpacked package with a configuration in the test's folder."""

    def __init__(self, t, front):
        self.t, self.front = t, front
        self.root = packages.tree("mediawiki") / "usr/share/mediawiki"
        self.dir = t.dir / "wiki"
        (self.dir / "cache").mkdir(parents=True)
        self.config = self.dir / "LocalSettings.php"

    def script(self, name, *args, text=None):
        """A maintenance script; what it printed."""
        env = php.environment(self.front, MW_CONFIG_FILE=self.config)
        # It is older than PHP: what that says about it is not ours to judge.
        argv = ["php", *php.FLAGS, "-d", "error_reporting=22527", f"maintenance/{name}.php", *map(str, args)]
        done = subprocess.run(argv, cwd=self.root, env=clean_env(env), input=text or "", capture_output=True, text=True,
                              timeout=120)
        if done.returncode or done.stderr.strip():
            raise php.PhpFailed(f"{name}: exit {done.returncode}: {done.stdout[-1500:]} {done.stderr[-1500:]}")
        return done.stdout

    def install(self):
        keys = {"dbtype": "mysql", "dbserver": f"127.0.0.1:{self.front.port}", "dbname": "wiki", "dbuser": "app",
                "dbpass": "apppass", "installdbuser": "app", "installdbpass": "apppass", "server": f"http://{HOST}",
                "scriptpath": "", "confpath": self.dir, "pass": ADMIN[1]}
        options = [word for key, value in keys.items() for word in (f"--{key}", value)]
        out = self.script("install", *options, "Sluice's wiki", ADMIN[0])
        assert "successfully installed" in out, out[-2000:]
        with open(self.config, "a") as f:
            f.write(SETTINGS)


class Api:
    """A user of api.php."""

    def __init__(self, site, **extra):
        self.b = Browser(site, **extra)
        self.token = None

    def call(self, form=None, **query):
        target = "/api.php?" + "&".join(f"{k}={v}" for k, v in {"format": "json", "formatversion": 2, **query}.items())
        out = (self.b.post(target, form) if form is not None else self.b.get(target)).json()
        assert "error" not in out, f"{target}: {out}"
        return out

    def log_in(self):
        token = self.call(action="query", meta="tokens", type="login")["query"]["tokens"]["logintoken"]
        out = self.call({"username": ADMIN[0], "password": ADMIN[1], "logintoken": token,
                         "loginreturnurl": f"http://{HOST}/"}, action="clientlogin")
        assert out["clientlogin"]["status"] == "PASS", out
        self.token = self.call(action="query", meta="tokens")["query"]["tokens"]["csrftoken"]
        return self

    def edit(self, title, text, **more):
        out = self.call({"title": title, "text": text, "token": self.token, **more}, action="edit")["edit"]
        assert out["result"] == "Success", out
        return out

    def found(self, words):
        out = self.call({"srsearch": words}, action="query", list="search", srwhat="text")
        return sorted(hit["title"] for hit in out["query"]["search"])


def edit_by_both(wiki, api):
    assert "done" in wiki.script("edit", "--user", "Admin", "--summary", "by a script", "Okapi",
                                 text="The '''okapi''' lives in [[Congo]].\n[[Category:Animals]]")
    made = api.edit("Quagga", "The quagga (''Equus'') is gone. See [[Okapi]].\n[[Category:Animals]]", summary="by the API")
    text = "The quagga (''Equus'') is gone. See [[Okapi]]. 斑馬 and more.\n[[Category:Animals]]"
    again = api.edit("Quagga", text, basetimestamp=made["newtimestamp"])
    assert again["oldrevid"] == made["newrevid"]
    assert "nochange" in api.edit("Okapi", wiki.script("getText", "Okapi"))


def read(site):
    b = Browser(site)
    assert "lives in Congo" in b.get("/index.php?title=Okapi").text()
    page = b.get("/index.php?title=Quagga")
    assert "斑馬 and more" in page.text() and 'title="Okapi"' in page.body
    assert "Revision as of" in b.get("/index.php?title=Quagga&diff=cur&oldid=prev").text()
    assert "by the API" in b.get("/index.php?title=Quagga&action=history").text()
    assert "no text in this page" in b.get("/index.php?title=Nonesuch", status=404).text()
    recent = b.get("/index.php?title=Special:RecentChanges&hidebots=0").text()
    assert "Quagga" in recent and "Okapi" in recent, recent[:2000]


def jobs_and_categories(wiki, site, api):
    wiki.script("runJobs")
    members = api.call(action="query", list="categorymembers", cmtitle="Category:Animals")["query"]["categorymembers"]
    assert [m["title"] for m in members] == ["Okapi", "Quagga"], members
    text = Browser(site).get("/index.php?title=Category:Animals").text()
    assert "Okapi" in text and "Quagga" in text, text[:1500]
    changes = api.call(action="query", list="recentchanges", rcprop="title|ids|comment", rclimit=50)["query"]
    assert {"by a script", "by the API"} <= {c["comment"] for c in changes["recentchanges"]}, changes
    back = api.call(action="query", list="backlinks", bltitle="Okapi")["query"]["backlinks"]
    assert [p["title"] for p in back] == ["Quagga"], back


def search(wiki, site, api):
    wiki.script("rebuildtextindex")
    for words, pages in (("okapi", ["Okapi", "Quagga"]), ("quagga equus", ["Quagga"]), ("nonesuchword", [])):
        assert api.found(words) == pages, f"{words}: {api.found(words)}"
    page = Browser(site).get("/index.php?title=Special:Search&search=okapi&fulltext=1").text()
    assert "Page text matches" in page and "lives in" in page, page[:2000]
    assert Browser(site).get("/index.php?title=Special:Search&search=okapi&go=Go", status=302)


def administrate(wiki, site, api):
    """Pages moved, protected, deleted and brought back, a user made and one blocked, and the larger scripts."""
    api.edit("Draft", "A draft about a [[zebra]].")
    api.call({"from": "Draft", "to": "Zebra", "token": api.token, "reason": "named"}, action="move")
    api.call({"title": "Zebra", "protections": "edit=sysop", "token": api.token}, action="protect")
    api.call({"title": "Zebra", "token": api.token, "reason": "off"}, action="delete")
    assert Browser(site).get("/index.php?title=Zebra", status=404)
    assert api.call({"title": "Zebra", "token": api.token}, action="undelete")["undelete"]["revisions"] >= 1
    assert "A draft about a zebra" in Browser(site).get("/index.php?title=Zebra").text()
    wiki.script("createAndPromote", "--sysop", "Second", "another passw0rd")
    api.call({"user": "192.0.2.7", "expiry": "1 day", "token": api.token}, action="block")
    assert api.call(action="query", meta="siteinfo", siprop="statistics")["query"]["statistics"]["pages"] >= 4
    for script in (["refreshLinks"], ["initSiteStats", "--update"], ["rebuildrecentchanges"], ["runJobs"],
                   ["deleteOldRevisions"], ["showJobs"]):
        wiki.script(*script)


def crowd(n, site, requests):
    """One of several who read and write at once."""
    if n % 3 == 0:
        b = Browser(site, WIKI_BY_SOCKET="1" if n else "")
        for _ in range(requests):
            assert "lives in Congo" in b.get("/index.php?title=Okapi").text()
            assert "Quagga" in b.get("/index.php?title=Special:Search&search=quagga&fulltext=1").text()
        return
    api = Api(site).log_in()
    for i in range(requests):
        api.edit(f"Crowd {n}", f"Edit {i} by {n}. [[Category:Crowd]]")
        text = api.call(action="parse", page=f"Crowd_{n}", prop="wikitext")["parse"]["wikitext"]
        assert text.startswith(f"Edit {i} by {n}."), text


@case()
def mediawiki_is_installed_edited_read_and_searched(t):
    if not php.fpm_binary():
        raise Skip("there is no php-fpm here (make deps)")
    packages.lacking("mysqli", "mbstring", "intl", "xml")
    packages.tree("mediawiki")
    t.db.admin.query("CREATE DATABASE wiki CHARACTER SET binary")
    t.defer(t.db.admin.query, "DROP DATABASE wiki")
    t.db.admin.query("GRANT ALL ON wiki.* TO app@'%'")
    # A request has a transaction on one connection, and GET_LOCK on another: with fewer backends than REQUESTS + 1 they
    # would wait for each other, and for the same reason all may be pinned.
    with Watch(t, f"mediawiki {packages.version('mediawiki')}", pool_max=REQUESTS + 1, max_pinned="100%",
               queue_timeout="60s") as f:
        wiki = Wiki(t, f)
        wiki.install()
        site = Site(t.dir / "site", f, wiki.root, children=REQUESTS, MW_CONFIG_FILE=wiki.config)
        t.defer(site.stop)
        api = Api(site).log_in()
        edit_by_both(wiki, api)
        read(site)
        jobs_and_categories(wiki, site, api)
        search(wiki, site, api)
        if t.db.is_mariadb:
            administrate(wiki, site, api)
        side_by_side(6, crowd, site, 4 if t.db.is_mariadb else 2)
        for n in range(3):
            wiki.script("edit", f"Script {n}", text=f"By script {n}.\n[[Category:Crowd]]")
        wiki.script("runJobs")
        members = api.call(action="query", list="categorymembers", cmtitle="Category:Crowd", cmlimit=50)
        titles = {m["title"] for m in members["query"]["categorymembers"]}
        assert titles == {*(f"Crowd {n}" for n in (1, 2, 4, 5)), *(f"Script {n}" for n in range(3))}, titles
