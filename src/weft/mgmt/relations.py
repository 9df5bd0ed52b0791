"""The relations as they are shown: the documents' columns, and what weft added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RELATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "link": ("index", "link", "chunk_id", "state"),
    "chunk": ("index", "id"),
    "host": ("index", "host", "type", "state", "health"),
    "crawler": ("index", "chunk_id", "c_host", "c_task"),
    "index_builder": ("index", "chunk_id", "ib_host", "ib_task"),
    "index_server": ("index", "row", "chunk_id", "is_host", "state"),
    "site": ("index", "name", "scope", "is_excluded", "seeds", "settings"),
    "robots": ("index", "origin", "status", "bytes", "fetched", "expires"),
    "address": ("index", "web_host", "ip", "ip_key", "expires", "reason"),
    "pending_host": ("index", "web_host", "pending", "ready_at", "reason", "rate"),
}

DOCUMENTED: Final = tuple(RELATIONS)[:6]
"""Those that have an index of their own; the others are numbered by name."""

TASKS: Final = ("crawling", "crawled", "building", "waiting", "built", "error", "empty")
"""What chunks are counted by; an empty one lost all its links to other chunks or back to pending."""
