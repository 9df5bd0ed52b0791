"""A real nginx on a loopback address of its own: files, gzip, ETags, TLS, redirects, passwords, request limits."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.certificates import Authority

_PATIENCE = 30


@dataclass(frozen=True)
class NginxSite:
    """One name under one scheme. The same name may be given twice: plain and secure."""

    name: str
    # Paths with what is served there; a path that ends in a slash is its index.html.
    pages: Mapping[str, str | bytes] = field(default_factory=dict)
    secure: bool = False
    # Answer everything with a 301 to the same path there, such as https://www.a.test.
    redirect: str = ""
    # user:password, asked for on every path but /robots.txt
    auth: str = ""
    # Requests per second and address (limit_req); others get `limit_status`.
    rate: int = 0
    burst: int = 0
    limit_status: int = 503
    # Further directives of nginx for this server, such as 'add_header Retry-After 3 always;'.
    lines: Sequence[str] = ()
    # Names and days of its certificate; a negative number of days makes one that has expired.
    certificate_names: Sequence[str] = ()
    certificate_days: int = 2

    @property
    def scheme(self) -> str:
        return "https" if self.secure else "http"

    @property
    def label(self) -> str:
        return f"{self.name}-{self.scheme}"


@dataclass(frozen=True)
class NginxRequest:
    """A line of the access log; `seconds` is the clock's time when it was answered."""

    seconds: float
    scheme: str
    host: str
    path: str
    status: int
    bytes: int
    encoding: str
    user: str
    agent: str


_LOG_FORMAT = (
    '{"seconds":$msec,"scheme":"$scheme","host":"$host","path":"$request_uri","status":$status,'
    '"bytes":$body_bytes_sent,"encoding":"$sent_http_content_encoding","user":"$remote_user","agent":"$http_user_agent"}'
)
# Debian's package that holds mime.types is not needed for these.
_TYPES = {
    "text/html": "html",
    "text/css": "css",
    "text/plain": "txt",
    "text/xml": "xml",
    "application/pdf": "pdf",
    "image/png": "png",
    "application/javascript": "js",
    "application/zip": "zip",
    "video/mp4": "mp4",
}


class Nginx:
    """Where it answers, and what it was asked."""

    def __init__(self, place: Path, sites: Sequence[NginxSite]) -> None:
        self.place, self._sites = place, sites
        # Of 16 million addresses another test has this one at the same time almost never.
        self.address = f"127.{random.randint(1, 254)}.{random.randint(0, 254)}.{random.randint(2, 254)}"
        self.ports = {"http": 80, "https": 443} if _may_use_low_ports(self.address) else {"http": 8080, "https": 8443}
        self.authority = Authority(place)

    def url(self, name: str, path: str = "/", scheme: str = "http") -> str:
        """With the port where it is not the scheme's own: without root it cannot be."""
        port = self.ports[scheme]
        return f"{scheme}://{name}{'' if port in (80, 443) else f':{port}'}{path}"

    @property
    def settings_text(self) -> str:
        """What weft.toml says so that weft finds these sites; the authority is not in it."""
        names = ", ".join(f'"{name}" = "{self.address}"' for name in sorted({site.name for site in self._sites}))
        return (
            f'[urlserver]\nallow_net = ["127.0.0.0/8"]\nallow_ports = {[*self.ports.values()]}\n'
            f"static_hosts = {{{names}}}\n"
        )

    def write(self, site: NginxSite, path: str, content: str | bytes) -> None:
        """Serve this from now on; its ETag and Last-Modified change with its size or second."""
        file = self._file(site, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def remove(self, site: NginxSite, path: str) -> None:
        self._file(site, path).unlink()

    def requests(self, path: str = "") -> list[NginxRequest]:
        """All answered so far, in order; of one path if it is given."""
        lines = (self.place / "access.log").read_text().splitlines()
        read = (NginxRequest(**json.loads(line)) for line in lines)
        return [request for request in read if path in ("", request.path)]

    def statuses(self, path: str) -> list[int]:
        return [request.status for request in self.requests(path)]

    def _file(self, site: NginxSite, path: str) -> Path:
        return self._root(site) / (f"{path}index.html" if path.endswith("/") else path).lstrip("/")

    def _root(self, site: NginxSite) -> Path:
        return self.place / "roots" / site.label

    def configure(self) -> Path:
        for site in self._sites:
            self._root(site).mkdir(parents=True, exist_ok=True)
            for path, content in site.pages.items():
                self.write(site, path, content)
        file = self.place / "nginx.conf"
        file.write_text(self._configuration())
        return file

    def _configuration(self) -> str:
        kinds = " ".join(f"{kind} {suffix};" for kind, suffix in _TYPES.items())
        temporary = "\n".join(
            f"{name}_temp_path {self.place}/temporary;" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        zones = "\n".join(
            f"limit_req_zone $binary_remote_addr zone={site.label}:1m rate={site.rate}r/s;"
            for site in self._sites
            if site.rate
        )
        return f"""{"user root;" if os.geteuid() == 0 else ""}
daemon off;
worker_processes 1;
pid {self.place}/nginx.pid;
events {{ worker_connections 512; }}
http {{
types {{ {kinds} }}
default_type application/octet-stream;
log_format asked escape=json '{_LOG_FORMAT}';
access_log {self.place}/access.log asked;
{temporary}
gzip on;
gzip_min_length 1;
gzip_types text/plain text/css text/xml application/javascript;
{zones}
{"".join(self._server(site) for site in self._sites)}
}}
"""

    def _server(self, site: NginxSite) -> str:
        lines = [
            f"listen {self.address}:{self.ports[site.scheme]}{' ssl' if site.secure else ''};",
            f"server_name {site.name};",
            f"root {self._root(site)};",
            *site.lines,
            *self._certificate(site),
        ]
        if site.rate:
            lines.append(f"limit_req zone={site.label} burst={site.burst} nodelay;")
            lines.append(f"limit_req_status {site.limit_status};")
        if site.redirect:
            scheme, _, name = site.redirect.partition("://")
            lines.append(f"location / {{ return 301 {self.url(name, '', scheme)}$request_uri; }}")
        if site.auth:
            lines.append(f"location / {{ auth_basic private; auth_basic_user_file {self._passwords(site)}; }}")
            lines.append("location = /robots.txt { auth_basic off; }")
        return "server {\n" + "\n".join(lines) + "\n}\n"

    def _certificate(self, site: NginxSite) -> list[str]:
        if not site.secure:
            return []
        file = self.authority.certificate(*(site.certificate_names or [site.name]), days=site.certificate_days)
        return [f"ssl_certificate {file};", f"ssl_certificate_key {file};"]

    def _passwords(self, site: NginxSite) -> Path:
        user, _, password = site.auth.partition(":")
        file = self.place / f"{site.label}.passwords"
        file.write_text(f"{user}:{{PLAIN}}{password}\n")
        return file


@contextmanager
def running_nginx(program: Path, place: Path, *sites: NginxSite) -> Iterator[Nginx]:
    """nginx with these sites, its files below `place`; it listens when this is entered, and is gone afterwards."""
    place.mkdir(parents=True, exist_ok=True)
    nginx = Nginx(place, sites)
    command = [str(program), "-p", str(place), "-c", str(nginx.configure()), "-e", str(place / "error.log")]
    with (place / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        _wait_until_it_listens(nginx, process)
        yield nginx
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _wait_until_it_listens(nginx: Nginx, process: subprocess.Popen[bytes]) -> None:
    """It writes its pid after it has bound all its addresses."""
    while not (nginx.place / "nginx.pid").exists():
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"nginx ended: {(nginx.place / 'output').read_text()}")


def _may_use_low_ports(address: str) -> bool:
    try:
        with socket.create_server((address, 80)):
            return True
    except OSError:
        return False
