# SPDX-License-Identifier: Apache-2.0
"""A browser for PHP-FPM: requests with methods, forms, JSON and cookies, as a web server would hand them on."""
import html
import http.cookies
import json
import pathlib
import re
import threading
import urllib.parse

from harness import php
from harness.procs import Background

# No port: what an application believes to be its address needs nobody to listen there.
HOST = "apps.test"
# In what PHP logs. Warnings the applications have of their own.
BAD = re.compile(r"PHP Fatal|database error|mysqli?_|PDOException|gone away|Packets out of order")


class Reply:
    def __init__(self, raw, stderr):
        head, _, self.body = raw.partition("\r\n\r\n")
        self.stderr = stderr
        self.headers = {}
        self.cookies = http.cookies.SimpleCookie()
        for line in head.split("\r\n"):
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
            if name.lower() == "set-cookie":
                self.cookies.load(value.strip())
        self.status = int(self.headers.get("status", "200").split()[0])

    @property
    def location(self):
        return self.headers.get("location", "")

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            raise AssertionError(f"{self.status}, and no JSON: {self.body[:1500]} {self.stderr[:500]}") from None

    def text(self):
        """What a reader sees of the page."""
        body = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", self.body)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())

    def link(self, pattern):
        """The first address in the page that matches."""
        m = re.search(pattern, html.unescape(self.body))
        assert m, f"no link {pattern}: {self.text()[-3000:]}"
        return m[0]

    def fields(self):
        """All input fields with a value; of boxes and buttons to choose from, what is chosen."""
        out = {}
        for tag in re.findall(r"<input[^>]*>", self.body):
            at = dict(re.findall(r"""([\w-]+)=["']([^"']*)["']""", tag))
            if at.get("name") and (at.get("type") not in ("checkbox", "radio") or "checked" in tag):
                out[html.unescape(at["name"])] = html.unescape(at.get("value", "on"))
        return out


class Site(php.Fpm):
    """A PHP-FPM with an application's document root. extra: further FastCGI parameters, PHP's $_SERVER."""

    def __init__(self, folder, front, root, children=4, **env):
        super().__init__(folder, front, children, **env)
        self.root = pathlib.Path(root)

    def send(self, method, target, body=b"", headers=None, extra=None):
        path, _, query = target.partition("?")
        script, info = self.script_of(path)
        params = {"GATEWAY_INTERFACE": "CGI/1.1", "SERVER_SOFTWARE": "test", "SERVER_PROTOCOL": "HTTP/1.1",
                  "SERVER_NAME": HOST, "SERVER_PORT": "80", "REMOTE_ADDR": "127.0.0.1", "REQUEST_METHOD": method,
                  "REQUEST_URI": target, "QUERY_STRING": query, "SCRIPT_NAME": script, "DOCUMENT_ROOT": str(self.root),
                  "SCRIPT_FILENAME": str(self.root) + script, "HTTP_HOST": HOST, "HTTP_USER_AGENT": "test",
                  "REDIRECT_STATUS": "200", **(extra or {})}
        if info:
            params["PATH_INFO"] = info
        if body:
            params["CONTENT_LENGTH"] = str(len(body))
        for name, value in (headers or {}).items():
            name = name.upper().replace("-", "_")
            params[name if name == "CONTENT_TYPE" else "HTTP_" + name] = value
        reply = Reply(*php.exchange(self.sock, params, body, timeout=90))
        if BAD.search(reply.stderr):
            raise php.PhpFailed(f"{method} {target}: {reply.stderr[:1500]}")
        return reply

    def script_of(self, path):
        m = re.match(r"(.*?\.php)(/.*)?$", path)
        if m:
            return m[1], m[2]
        return path.rstrip("/") + "/index.php", None


class Browser:
    """One user's requests: keeps cookies. extra as in Site.send."""

    def __init__(self, site, **extra):
        self.site, self.extra, self.cookies = site, extra, {}
        self.lock = threading.Lock()

    def request(self, method, target, body=b"", headers=None, status=(200,)):
        headers = dict(headers or {})
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        r = self.site.send(method, target, body, headers, self.extra)
        with self.lock:
            self.cookies.update({k: m.value for k, m in r.cookies.items()})
        wanted = (status,) if isinstance(status, int) else status
        assert r.status in wanted, f"{method} {target}: {r.status} {r.location} {r.text()[:1500]} {r.stderr[:800]}"
        return r

    def get(self, target, **kw):
        return self.request("GET", target, **kw)

    def post(self, target, form, **kw):
        body = urllib.parse.urlencode(form, doseq=True).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded", **kw.pop("headers", {})}
        return self.request("POST", target, body, headers, **kw)

    def post_json(self, target, value, **kw):
        headers = {"Content-Type": "application/json", **kw.pop("headers", {})}
        return self.request("POST", target, json.dumps(value).encode(), headers, **kw)


def side_by_side(n, fn, *args):
    """fn(i, *args) in n threads at once; what they returned, in order."""
    runs = [Background(fn, i, *args) for i in range(n)]
    return [r.result(120) for r in runs]
