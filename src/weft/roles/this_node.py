"""What a node tells the others of itself."""

from __future__ import annotations

import socket
from hashlib import sha256

from weft.config import Settings
from weft.mgmt.values import NodeAbout


def machine_name(settings: Settings) -> str:
    return settings.mgmt.machine or socket.gethostname()


def about_this_node(settings: Settings, version: str, *, is_sole: bool = False) -> NodeAbout:
    """With the digest of its token, so that one with another token is refused before it loses work."""
    return NodeAbout(
        machine=machine_name(settings), version=version, token=_digest(settings.spider.token), is_sole=is_sole
    )


def _digest(token: str) -> str:
    """Enough to tell that two differ; tokens have far more bits than can be tried."""
    return sha256(b"weft token " + token.encode()).hexdigest()[:16] if token else ""
