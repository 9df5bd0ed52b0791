"""The control plane that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.cli.invocation import Invocation

if TYPE_CHECKING:
    from weft.mgmt.api import Mgmt


@contextmanager
def control_plane(invocation: Invocation) -> Iterator[Mgmt]:
    """The control plane of an existing home."""
    from weft.mgmt.open import open_mgmt

    mgmt = open_mgmt(invocation.load().settings, invocation.home_to_write())
    try:
        yield mgmt
    finally:
        mgmt.close()
