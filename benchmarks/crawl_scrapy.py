"""Scrapy over the synthetic web of `weft bench crawl`: default settings, fetch and follow, nothing kept.

Reads the start URL and the addresses of all names as JSON; prints pages, seconds and CPU seconds as JSON. Imports are
outside the clock.
"""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

from fetch_others import scrapy_follow


def know_names(addresses: dict[str, str]) -> None:
    """The names of a synthetic web are known to nobody else; looking one up costs Scrapy nothing."""
    look_up, describe = socket.gethostbyname, socket.getaddrinfo

    def by_name(name: str) -> str:
        return addresses.get(name) or look_up(name)

    def info(host: Any, *about: Any, **more: Any) -> Any:
        return describe(addresses.get(host, host), *about, **more)

    socket.gethostbyname = by_name
    socket.getaddrinfo = info


if __name__ == "__main__":
    told = json.load(sys.stdin)
    know_names(told["addresses"])
    print(json.dumps(scrapy_follow([], told["start"], "")))
