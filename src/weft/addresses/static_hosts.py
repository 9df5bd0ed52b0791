"""Addresses that the settings give for host names, so that nobody is asked for them."""

from __future__ import annotations

from collections.abc import Mapping


class StaticHosts:
    """Names with their addresses; `*.example.com` stands for every name below example.com that has no nearer entry."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._names = dict(table)

    def find(self, host: str) -> str | None:
        found = self._names.get(host)
        rest = host
        while found is None and rest:
            rest = rest.partition(".")[2]
            found = self._names.get(f"*.{rest}")
        return found
