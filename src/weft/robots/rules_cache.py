"""Rules of large files: read once for all hosts that serve the same file, and never more of them than memory allows."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final
from weakref import WeakValueDictionary

from weft.robots.file import parse
from weft.robots.rules import Rules

WORTHWHILE: Final = 4 * 1024
"""Bytes of rules from which on they are shared; smaller ones are read as quickly as they are found."""
MOST_RECENT: Final = 32 * 1024 * 1024
"""Bytes of rules that are kept although no host needs them now."""
MOST_IN_USE: Final = 512 * 1024 * 1024
"""Bytes of shared rules that all hosts together may use."""


class TooManyRules(Exception):  # noqa: N818 - a bound, not a fault
    """The rules in use take all the memory that they may."""


class RulesCache:
    """For one crawler's product token. Not for several threads at a time; rules may be dropped in any thread."""

    def __init__(self, agent: str, limit: int, *, recent: int = MOST_RECENT, in_use: int = MOST_IN_USE) -> None:
        """`limit`: bytes of a robots.txt that are read; the others bound the bytes of rules."""
        self._agent, self._limit, self._most_recent, self._most_in_use = agent, limit, recent, in_use
        self._in_use: WeakValueDictionary[bytes, Rules] = WeakValueDictionary()
        self._recent: OrderedDict[bytes, Rules] = OrderedDict()
        self._recent_size = 0
        self._at_most_in_use = 0
        """What is in use and what was since this was last counted."""
        self.parsed = 0
        """Files that were read."""

    def rules_of(self, body: bytes) -> Rules:
        """What a robots.txt allows; raises TooManyRules if there is no memory for it now."""
        key = hashlib.sha256(body).digest()
        found = self._in_use.get(key)
        if found is None:
            found = parse(body, self._limit).rules_for(self._agent)
            self.parsed += 1
            if found.size < WORTHWHILE:
                return found
            self._make_room(found.size)
            self._in_use[key] = found
        self._keep_recent(key, found)
        return found

    def _make_room(self, size: int) -> None:
        self._at_most_in_use += size
        if self._at_most_in_use > self._most_in_use:
            self._drop_recent(0)
            self._at_most_in_use = size + sum(rules.size for rules in self._in_use.values())
        if self._at_most_in_use > self._most_in_use:
            raise TooManyRules

    def _keep_recent(self, key: bytes, rules: Rules) -> None:
        if key not in self._recent:
            self._recent_size += rules.size
        self._recent[key] = rules
        self._recent.move_to_end(key)
        self._drop_recent(self._most_recent)

    def _drop_recent(self, most: int) -> None:
        while self._recent_size > most:
            self._recent_size -= self._recent.popitem(last=False)[1].size
