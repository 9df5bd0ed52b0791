"""The control plane that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from weft.cli.invocation import Invocation
from weft.cli.output import say
from weft.errors import MgmtDamaged, MgmtForeign, MgmtMissing, MgmtOutdated

if TYPE_CHECKING:
    from weft.mgmt.api import Mgmt


@contextmanager
def control_plane(invocation: Invocation, *, to_read: bool = False) -> Iterator[Mgmt]:
    """The control plane of an existing home; `to_read` is for questions, which a read-only home answers too."""
    from weft.mgmt.open import open_mgmt, open_mgmt_to_read

    settings, home = invocation.load().settings, invocation.home_to_write()
    mgmt = open_mgmt_to_read(settings, home) if to_read else open_mgmt(settings, home, partial(say, err=True))
    try:
        yield mgmt
    finally:
        mgmt.close()


def recorded_identity(invocation: Invocation) -> dict[str, str]:
    """What all processes of this home must agree on, for commands that change the store alone.

    Nothing is known where the control plane is missing, damaged or no database: they do not need it.
    """
    try:
        with control_plane(invocation, to_read=True) as mgmt:
            return mgmt.agree({})
    except MgmtOutdated:
        with control_plane(invocation) as mgmt:
            return mgmt.agree({})
    except (MgmtMissing, MgmtDamaged, MgmtForeign):
        return {}
