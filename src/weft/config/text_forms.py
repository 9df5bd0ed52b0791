"""Settings that are text with a form of its own, such as host:port: how each is read, and what it must look like."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

from weft.config.keys import Matching

# A host is a name, an IPv4 address, or an IPv6 address in brackets.
_HOST = r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])"
_HOST_AND_PORT = re.compile(rf"({_HOST})(?::([0-9]{{1,5}}))?")
_CASSANDRA_URL = re.compile(
    rf"cassandra://(?:[^@/\s]+@)?{_HOST}(?::[0-9]{{1,5}})?(?:,{_HOST}(?::[0-9]{{1,5}})?)*/[a-z][a-z0-9_]{{0,47}}"
    r"(?:\?(?:datacenter=[\w.-]{1,64}|tls=[^\s&?#]+)(?:&(?:datacenter=[\w.-]{1,64}|tls=[^\s&?#]+))?)?",
    re.ASCII,
)
# Strict about `/`, `@` and `%`: the database driver repeats what it cannot read, and that may be half a password.
_POSTGRESQL_URL = re.compile(
    r"postgresql://(?:(?:[!-$&-.0-?A-~]|%[0-9A-Fa-f]{2})*@)?"  # user and password
    r"(?:[!-$&-.0->A-~]|%[0-9A-Fa-f]{2})*"  # hosts and ports
    r"(?:/(?:[!-$&->A-~]|%[0-9A-Fa-f]{2})*)?(?:\?(?:[!-$&-~]|%[0-9A-Fa-f]{2})*)?"  # database, parameters
)
_HOST_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_PORT = re.compile(r":[0-9]{1,5}\Z")
_PARAMETER = re.compile(r"[^\s&=;#*?/]+\*?")
_PRODUCT = re.compile(r"[A-Za-z_-]+(?:[/ ][ -~]*)?")
_CONTACT = re.compile(r"(?:https?://[!-'*-~]+|[!-'*-?A-~]+@[!-'*-?A-~]+)?")
_TOKEN = re.compile(r"[!-~]*")
_MACHINE = re.compile(r"[A-Za-z0-9._-]{0,64}")


def host_and_port(text: str, default_port: int | None = None) -> tuple[str, int]:
    """Split `host:port`, without the brackets of an IPv6 address; ValueError if it is something else."""
    match = _HOST_AND_PORT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not host:port")
    port = int(match[2]) if match[2] else default_port
    if port is None or port > 65535:
        raise ValueError(f"{text} has no port from 0 to 65535")
    return _host(match[1]), port


def _host(text: str) -> str:
    if not text.startswith("["):
        return text
    return str(IPv6Address(text[1:-1]))


def spiders(spider_host: str, spider_port: int) -> tuple[tuple[str, int], ...]:
    """The spiders in `[urlserver] spider_host`; one without a port gets `spider_port`."""
    return tuple(host_and_port(spider.strip(), spider_port) for spider in spider_host.split(","))


def _is_listen_address(text: str) -> bool:
    return _succeeds(host_and_port, text)


def _is_reached_by(text: str) -> bool:
    return not text or _succeeds(host_and_port, text)


def _is_spider_listen(text: str) -> bool:
    return _succeeds(host_and_port, text, 1)


def _are_spiders(text: str) -> bool:
    return _succeeds(spiders, text, 1)


def _is_network(text: str) -> bool:
    return _succeeds(ip_network, text)


def _is_static_host(pair: tuple[str, str]) -> bool:
    name, address = pair
    return _HOST_NAME.fullmatch(name.removeprefix("*.")) is not None and _succeeds(ip_address, address)


def dns_server(text: str) -> tuple[str, int]:
    """Address and port of a name server; ValueError if it is something else."""
    host, port = host_and_port(text, 53)
    return str(ip_address(host)), port


def _is_web_host(text: str) -> bool:
    return _HOST_NAME.fullmatch(text) is not None or _succeeds(ip_address, text)


def _is_origin(text: str) -> bool:
    """As browsers send it: lower case, no path, and no port that the scheme has anyway."""
    scheme, _, place = text.partition("://")
    host, has_port, port = place.rpartition(":") if _PORT.search(place) else (place, "", "")
    own_port = {"http": "80", "https": "443"}.get(scheme)
    if own_port is None or (has_port and (port == own_port or str(int(port)) != port or int(port) > 65535)):
        return False
    return _HOST_NAME.fullmatch(host) is not None or (host[:1] == "[" and _succeeds(IPv6Address, host[1:-1]))


def _is_user_agent(text: str) -> bool:
    filled = text.replace("{version}", "").replace("{contact}", "")
    return _PRODUCT.fullmatch(text) is not None and "{" not in filled and "}" not in filled


def _succeeds(parse: Callable[..., object], *arguments: object) -> bool:
    try:
        parse(*arguments)
    except ValueError:
        return False
    return True


STORE_URL = Matching(
    '"rocksdb:" or "cassandra://host,host/keyspace" with a keyspace of small letters, digits and _',
    lambda text: text == "rocksdb:" or _CASSANDRA_URL.fullmatch(text) is not None,
)
MGMT_URL = Matching(
    '"sqlite:" or "postgresql://…", percent-encoded',
    lambda text: text == "sqlite:" or _POSTGRESQL_URL.fullmatch(text) is not None,
)
LISTEN = Matching('"host:port"', _is_listen_address)
SPIDER_LISTEN = Matching('"host" or "host:port"', _is_spider_listen)
REACHED_BY = Matching('"host:port", or ""', _is_reached_by)
PATH = Matching("a path", lambda text: bool(text) and "\0" not in text)
PATH_OR_NOTHING = Matching('a path, or ""', lambda text: "\0" not in text)
SPIDERS = Matching('"host" or "host:port", or several separated by commas', _are_spiders)
NETWORKS = Matching('a list of networks such as ["10.0.0.0/8"]', _is_network)
# The URL server looks up names as serialised URLs write them, in lower case: upper case would never match.
STATIC_HOSTS = Matching(
    'a table of lower-case host names and IP addresses such as { "intranet.example" = "10.0.0.5" }', _is_static_host
)
DNS_SERVERS = Matching(
    'a list of addresses such as ["192.0.2.53", "[2001:db8::53]:5353"]', lambda text: _succeeds(dns_server, text)
)
# Browsers send both in lower case: upper case would never match.
WEB_HOSTS = Matching('a list of lower-case host names or addresses such as ["weft.example"]', _is_web_host)
ORIGINS = Matching('a list of origins such as ["https://app.example", "http://localhost:3000"]', _is_origin)
PARAMETERS = Matching(
    'a list of parameter names such as ["gclid", "utm_*"]', lambda text: _PARAMETER.fullmatch(text) is not None
)
# The product name is the one that robots.txt is searched for, and RFC 9309 allows these characters.
USER_AGENT = Matching(
    'a product name of letters, "-" and "_", then ASCII text without braces except {version} and {contact}',
    _is_user_agent,
)
CONTACT = Matching(
    'an http(s) or mail address without spaces or parentheses, or ""',
    lambda text: _CONTACT.fullmatch(text) is not None,
)
MACHINE = Matching(
    'a name of letters, digits, ".", "-" and "_", or ""', lambda text: _MACHINE.fullmatch(text) is not None
)
# The token is one word of a line on the wire.
TOKEN = Matching('ASCII text without spaces, or ""', lambda text: _TOKEN.fullmatch(text) is not None)
