"""How this process asks other nodes for records, by the settings."""

from __future__ import annotations

import msgspec

from weft.archive.record_connection import NodeAccess
from weft.config import Settings
from weft.mgmt.open import is_embedded


class NodeSettings(msgspec.Struct, frozen=True):
    """What is needed to ask other nodes, in a form that worker processes can be sent."""

    token: str = ""

    @classmethod
    def from_settings(cls, settings: Settings) -> NodeSettings | None:
        """None: the control plane is a file of this machine, and so are all records."""
        return None if is_embedded(settings) else cls(settings.spider.token)

    def access(self, connect_seconds: float = 5.0, read_seconds: float = 30.0) -> NodeAccess:
        return NodeAccess(self.token, connect_seconds=connect_seconds, read_seconds=read_seconds)
