"""Secrets do not turn up where others may look: command lines, logs, locks, status files, messages, tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.weft_command import weft
from weft.store.rocksdb import RocksReader
from weft.store.tables import Table

SECRET = "canary"
PATIENCE = 120.0


class Web(ThreadingHTTPServer):
    """Answers with what `pages` has: a status, header fields and a body."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.pages: dict[str, tuple[int, dict[str, str], str]] = {}
        self.requests: list[str] = []
        self.held, self.let_go = threading.Event(), threading.Event()

    def url(self, path: str, user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.server_port}{path}"

    @property
    def sets(self) -> list[str]:
        rude = "urlserver.req_host_per_sec=50.0"
        nets, ports = 'urlserver.allow_net=["127.0.0.0/8"]', f"urlserver.allow_ports=[{self.server_port}]"
        return [part for text in (nets, ports, rude) for part in ("--set", text)]


class _Answer(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        self.server.requests.append(f"{self.path} {dict(self.headers)}")
        if self.path == "/held":
            self.server.held.set()
            self.server.let_go.wait(PATIENCE)
        status, headers, body = self.server.pages.get(self.path, (404, {}, ""))
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.let_go.set()
        server.shutdown()


def descendants(pid: int) -> list[int]:
    """All processes that a process started, and those that they started."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, todo = list[int](), [pid]
    while todo:
        found += (new := children.get(todo.pop(), []))
        todo += new
    return found


def files_with(secret: str, home: Path, *, allowed: str = "") -> list[str]:
    """All files except the archive, which is the record of what was received; `allowed` is taken out first."""
    files = [file for file in home.rglob("*") if file.is_file() and file.parent.name != "warc"]
    return [
        str(file.relative_to(home))
        for file in files
        if secret.encode() in file.read_bytes().replace((allowed or secret.upper()).encode(), b"")
    ]


@contextmanager
def crawling(place: Path, web: Web, *words: str, umask: int = -1) -> Iterator[subprocess.Popen[str]]:
    """A crawl that hangs at /held."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "weft", "crawl", "--home", str(place / "home"), *web.sets, *words],
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        umask=umask,
    )
    try:
        assert web.held.wait(PATIENCE), "the crawl did not come to its page"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_secret_settings_are_in_no_command_line_of_a_role_and_in_no_file_or_message(
    tmp_path: Path, web: Web, postgres_url: str
) -> None:
    url = postgres_url.replace("postgres:@", f"postgres:{SECRET}-password@")
    assert SECRET in url
    web.pages = {"/": (200, {}, "<a href=/held>x</a>"), "/held": (200, {}, "held")}
    secrets = ["--set", f"mgmt.url={url}", "--set", f'spider.token="{SECRET}-token"']
    assert weft("add", web.url("/"), "--local", "--home", "home", *secrets, cwd=tmp_path).returncode == 0
    set_auth = weft(
        *("sites", f"127.0.0.1:{web.server_port}", "--setting", f'auth="u:{SECRET}-auth"'),
        *("--home", "home", "--json", *secrets),
        cwd=tmp_path,
    )
    assert set_auth.returncode == 0, set_auth.stderr
    assert SECRET not in set_auth.stdout + set_auth.stderr
    with crawling(tmp_path, web, *secrets) as process:
        started = descendants(process.pid)
        assert len(started) >= 3
        for pid in started:
            assert SECRET.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        for command in (["status"], ["status", "--tables"], ["nodes"], ["config"], ["crawl"], ["why", web.url("/")]):
            done = weft(*command, "--home", "home", *secrets, cwd=tmp_path)
            assert SECRET not in done.stdout + done.stderr, command
        assert files_with(SECRET, tmp_path / "home") == []
        web.let_go.set()
        said, complained = process.communicate(timeout=PATIENCE)
    assert SECRET not in said + complained
    assert complained.count("on the command line; use weft.toml or WEFT_") == 2
    assert process.returncode == 0
    assert any("Authorization" in request for request in web.requests), "the site's password was used"
    assert files_with(SECRET, tmp_path / "home") == []


def test_tokens_and_login_codes_are_shown_once_and_nowhere_else(tmp_path: Path, web: Web) -> None:
    web.pages = {"/": (200, {}, "<a href=/held>x</a>"), "/held": (200, {}, "held")}
    home = ("--home", "home")
    with crawling(tmp_path, web, web.url("/"), "--local") as process:
        token = weft("token", "create", "--name", "ci", *home, cwd=tmp_path).stdout.strip()
        made = json.loads(weft("token", "create", "--json", *home, cwd=tmp_path).stdout)
        url = weft("token", "login", *home, cwd=tmp_path).stdout.strip()
        secrets = [token, made["text"], url.partition("code=")[2]]
        assert all(len(secret) >= 43 for secret in secrets)
        for pid in descendants(process.pid):
            said = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
            assert not any(secret.encode() in said for secret in secrets)
        for command in (
            ["status", "--json"],
            ["status", "--tables"],
            ["config"],
            ["token", "list"],
            ["nodes", "--json"],
        ):
            done = weft(*command, *home, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert not any(secret in done.stdout + done.stderr for secret in secrets), command
        web.let_go.set()
        told = "".join(process.communicate(timeout=PATIENCE))
    assert not any(secret in told for secret in secrets)
    assert [files_with(secret, tmp_path / "home") for secret in secrets] == [[], [], []]
    assert (tmp_path / "home/web-login.json").stat().st_mode & 0o777 == 0o600
    ids = [item["id"] for item in json.loads(weft("token", "list", "--json", *home, cwd=tmp_path).stdout)["items"]]
    assert made["id"] in ids
    revoked = weft("token", "revoke", token, *home, cwd=tmp_path)
    assert (revoked.returncode, token in revoked.stderr) == (1, False), "the token itself is not its id"


def test_user_and_password_in_a_url_are_neither_stored_nor_printed(tmp_path: Path, web: Web) -> None:
    user = f"{SECRET}-user:{SECRET}-password@"
    link = web.url("/a", user)
    foreign = [f"ftp://{user}h/", f"http://{user}[bad/", f"//{user}h.test/x", f"http://{user}h.test:99999/"]
    links = "".join(f'<a href="{url}">x</a>' for url in [link, *foreign, "/r", "/r2", "/r3", "/r4", "/held"])
    head = f'<base href="{web.url("/", user)}"><link rel=canonical href="{web.url("/", user)}">'
    web.pages = {
        "/": (200, {}, f"<html><head>{head}<title>t</title></head><body>{links}</body></html>"),
        "/a": (200, {}, f'<meta http-equiv=refresh content="0; url={web.url("/b", user)}">a'),
        "/r": (301, {"Location": web.url("/target", user)}, ""),
        "/r2": (302, {"Location": f"ftp://{user}h/"}, ""),
        "/r3": (302, {"Location": f"http://{user}[bad/"}, ""),
        "/r4": (302, {"Location": f"//{user}h.test:99999/"}, ""),
        "/target": (200, {}, "target"),
        "/held": (200, {}, "held"),
        "/robots.txt": (200, {"Content-Type": "text/plain"}, f"Sitemap: {web.url('/map.xml', user)}\n"),
        "/map.xml": (
            200,
            {"Content-Type": "text/xml"},
            f"<urlset><url><loc>{web.url('/mapped', user)}</loc></url></urlset>",
        ),
        "/mapped": (200, {}, "mapped"),
    }
    web.let_go.set()
    with crawling(tmp_path, web, web.url("/", user), f"http://{user}x.test:99999/") as process:
        said, complained = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, complained
    assert SECRET not in said + complained
    for path in ("/a", "/target", "/mapped"):
        assert any(request.startswith(path) for request in web.requests), path
    assert not any(SECRET in request for request in web.requests)
    # A robots.txt is kept as it is.
    assert files_with(SECRET, tmp_path / "home", allowed=web.pages["/robots.txt"][2]) == []
    with RocksReader(tmp_path / "home/store") as reader:
        for table in Table:
            for cell in reader.scan_rows(table, b""):
                assert SECRET not in str(cell), table
    for command in (
        ["why", web.url("/r", user)],
        ["why", web.url("/r")],
        ["page", link],
        ["url", link],
        ["links", link],
    ):
        for form in ([], ["--json"]):
            done = weft(*command, *form, "--home", "home", cwd=tmp_path)
            assert SECRET not in done.stdout + done.stderr, command


def test_a_control_plane_that_cannot_be_reached_is_named_without_its_password(tmp_path: Path) -> None:
    urls = (
        "postgresql://u:{}@127.0.0.1:1/db",
        "postgresql://u:{}@127.0.0.1:x/db",
        "postgresql://127.0.0.1:1/db?password={}",
        "postgresql://u:x/{}@127.0.0.1:1/db",
        "postgresql://u:x@{}@127.0.0.1:1/db",
        "postgresql://u:%zz{}@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?pass%77ord={}",
        "postgresql://127.0.0.1:1/db?sslpassword={}&passfile=/{}",
        "postgresql://127.0.0.1:1/db?PASSWORD={}",
        "postgresql://127.0.0.1:1/db?password=a@{}",
        "postgresql://127.0.0.1:1/db?password=%00{}",
        "postgresql://127.0.0.1:1/db?{}",
        "postgresql://u:{}",
        "host=127.0.0.1 port=1 password='x\\'{}'",
        "host=127.0.0.1 port=1 password=x\\ {}",
    )
    assert weft("init", cwd=tmp_path, WEFT_HOME="home").returncode == 0
    for url in urls:
        done = weft("status", cwd=tmp_path, WEFT_MGMT_URL=url.format(SECRET, SECRET), WEFT_HOME="home")
        assert done.returncode == 2
        assert "control plane" in done.stderr or "mgmt.url" in done.stderr
        assert SECRET not in done.stdout + done.stderr, url
        for command in (["config"], ["config", "--json"], ["init"], ["crawl"]):
            done = weft(*command, cwd=tmp_path, WEFT_MGMT_URL=url.format(SECRET, SECRET), WEFT_HOME="home")
            assert SECRET not in done.stdout + done.stderr, (command, url)


def test_a_cluster_that_cannot_be_reached_is_named_without_its_password(tmp_path: Path) -> None:
    assert weft("init", cwd=tmp_path, WEFT_HOME="home").returncode == 0
    control = {"WEFT_MGMT_URL": "postgresql://127.0.0.1:1/db", "WEFT_HOME": "home"}
    for url in ("cassandra://u:{}@127.0.0.1:1/weft", "cassandra://u:x@{}@h/weft", "cassandra://u:{}@127.0.0.1:1/NO"):
        for command in ("status", "top", "config", "crawl"):
            done = weft(command, cwd=tmp_path, WEFT_STORE_URL=url.format(SECRET), **control)
            assert done.returncode == 2 or command == "config"
            assert SECRET not in done.stdout + done.stderr, (command, url)


def test_all_that_a_crawl_writes_into_a_new_home_is_for_its_owner_alone(tmp_path: Path, web: Web) -> None:
    web.pages = {"/": (200, {}, "<a href=/held>x</a>"), "/held": (200, {}, "held")}
    home, seen = tmp_path / "home", dict[str, int]()

    def look() -> None:
        for path in home.rglob("*"):
            with suppress(FileNotFoundError):
                seen[str(path.relative_to(home))] = path.lstat().st_mode & 0o777

    with crawling(tmp_path, web, web.url("/"), umask=0) as process:
        look()
        web.let_go.set()
        assert "may read" not in process.communicate(timeout=PATIENCE)[1]
    look()
    assert home.stat().st_mode & 0o777 == 0o700
    links = {name for name in seen if (home / name).is_symlink()}
    assert {name: mode for name, mode in seen.items() if mode & 0o077 and name not in links} == {}
    for part in ("weft.toml", "mgmt.db-wal", "store/CURRENT", "logs/spider.log", "status/index.json", "crawl.lock"):
        assert part in seen
    assert any(name.startswith("warc/weft-") for name in seen)
    out = tmp_path / "pages.csv"
    done = weft("export", "pages", "--output", str(out), "--home", "home", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert out.stat().st_mode & 0o777 == 0o666 & ~current_umask(), "an export is for whom the user says"


def current_umask() -> int:
    os.umask(mask := os.umask(0))
    return mask


def test_a_home_that_others_may_read_is_left_so_with_one_warning(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    assert weft("init", "--home", "home", cwd=tmp_path).stderr == ""
    warned = weft("crawl", "http://10.0.0.1/", "--home", "home", cwd=tmp_path).stderr
    assert warned.count("other users of this machine may read home; `chmod -R go= home` makes it private") == 1
    assert weft("status", "--home", "home", cwd=tmp_path).stderr == ""
    assert home.stat().st_mode & 0o777 == 0o755
