"""How this process asks other nodes for records, by the settings."""

from __future__ import annotations

import msgspec

from weft.archive.record_connection import NodeAccess
from weft.config import Settings
from weft.config.sections import TlsSettings
from weft.mgmt.open import is_embedded
from weft.roles.tls import client_context, uses_tls
from weft.roles.tls_problems import dial_problem


class NodeSettings(msgspec.Struct, frozen=True):
    """What is needed to ask other nodes, in a form that worker processes can be sent."""

    token: str = ""
    tls: TlsSettings = TlsSettings()

    @classmethod
    def from_settings(cls, settings: Settings) -> NodeSettings | None:
        """None: the control plane is a file of this machine, and so are all records."""
        return None if is_embedded(settings) else cls(settings.spider.token, settings.tls)

    def access(self, connect_seconds: float = 5.0, read_seconds: float = 30.0) -> NodeAccess:
        """Raises UsageError if the files of `[tls]` cannot be used."""
        settings = Settings(tls=self.tls)
        context = client_context(settings)
        return NodeAccess(
            self.token,
            lambda host: context if uses_tls(settings, host) else None,
            connect_seconds,
            read_seconds,
            dial_problem,
        )
