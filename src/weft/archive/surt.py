"""The key by which replay tools look a URL up: host reversed, and what seldom names another page taken off.

The rules are those of the keys that pywb, OpenWayback and their indexers compute for the URL that somebody asks for;
a key made by other rules would never be found.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

_PARTS: Final = re.compile(r"https?://(?:[^@/?#]*@)?(\[[^]]*\]|[^:/?#]*)(?::(\d*))?([^?#]*)(?:\?([^#]*))?", re.DOTALL)
_SERVER_NUMBER: Final = re.compile(r"www\d*\.")
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_NOT_QUOTED: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_PATH_SESSIONS: Final = (
    re.compile(r"(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)", re.DOTALL),
    re.compile(r"(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)", re.DOTALL),
)
_QUERY_SESSIONS: Final = tuple(
    re.compile(rf"(.*)(?:{session})(?:&(.*))?", re.DOTALL | re.IGNORECASE)
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)
_MAY_BE_SESSION: Final = re.compile(r"s(?:ess)?id=|sessionid|cftoken=", re.IGNORECASE)


def surt(url: str) -> str:
    """The key of an http or https URL in its serialised form."""
    parts = _PARTS.match(url)
    if parts is None:
        return url
    host, port, path, query = parts.groups()
    key = f"{_reversed(host)}{_port(url, port)}){_path(path)}"
    query = _query(query) if query else ""
    return f"{key}?{query}" if query else key


@lru_cache(maxsize=4096)
def _reversed(host: str) -> str:
    host = host.lower().strip("[].")
    prefix = _SERVER_NUMBER.match(host)
    return ",".join(reversed(host[prefix.end() if prefix else 0 :].split(".")))


def _port(url: str, port: str | None) -> str:
    return f":{port}" if port and _DEFAULT_PORTS[url.partition(":")[0]] != port else ""


def _path(path: str) -> str:
    path = _quoted_once(_without_dots(_unquoted(path))).lower()
    if path.endswith(".aspx") or ".aspx" in path:
        for session in _PATH_SESSIONS:
            if found := session.fullmatch(path):
                path = found[1] + found[2]
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def _query(query: str) -> str:
    query = _quoted_once(_unquoted(query))
    if _MAY_BE_SESSION.search(query):
        for session in _QUERY_SESSIONS:
            if found := session.fullmatch(query):
                query = found[1] + (found[2] or "")
    pairs = sorted(tuple(pair.split("=", 1)) for pair in query.lower().split("&"))
    return "&".join("=".join(pair) for pair in pairs)


def _unquoted(text: str) -> bytes:
    """Percent signs undone until none is left that means something."""
    found = text.encode()
    while b"%" in found:
        once = unquote_to_bytes(found)
        if once == found:
            break
        found = once
    return found


def _quoted_once(text: bytes) -> str:
    return quote_from_bytes(text, _NOT_QUOTED)


def _without_dots(path: bytes) -> bytes:
    """Dot segments and doubled slashes resolved; unquoting may have brought new ones."""
    if b"/." not in path and b"//" not in path:
        return path or b"/"
    kept: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b".." and kept:
            kept.pop()
        elif segment != b".":
            kept.append(segment)
    inner = [segment for segment in kept[:-1] if segment]
    return b"/" + b"/".join([*inner, *kept[-1:]])
