"""Where this process has records from, by the settings: its own archive, and other nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

import msgspec

from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import NodeAccess
from weft.archive.record_reader import Packed, is_here, read_member_bytes
from weft.archive.remote_reader import RemoteRecords
from weft.config import Settings
from weft.config.sections import TlsSettings
from weft.mgmt.open import is_embedded
from weft.roles.tls import client_context, uses_tls
from weft.roles.tls_problems import dial_problem

_QUICK: Final = (3.0, 10.0)
"""Seconds to connect, and for an answer."""


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


class RecordSource:
    """Reads records one after the other, wherever they lie; not for several threads at once."""

    def __init__(self, archive: Path, nodes: NodeSettings | None) -> None:
        self._archive = archive
        self._nodes = RemoteRecords(nodes.access(*_QUICK)) if nodes else None

    @classmethod
    def from_settings(cls, settings: Settings, home: Path) -> Self:
        """Of a home: its own archive, and those of other machines if the control plane knows any."""
        return cls(home / settings.spider.warc_dir, NodeSettings.from_settings(settings))

    def member(self, node: str, position: RecordPosition) -> Packed:
        """The packed record; raises RecordUnreadable and NodeUnreachable."""
        if self._nodes is None or is_here(self._archive, position.file):
            return read_member_bytes(self._archive, position)
        return self._nodes.member(node, position)

    def close(self) -> None:
        if self._nodes is not None:
            self._nodes.close()
