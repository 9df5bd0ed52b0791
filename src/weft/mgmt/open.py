"""Which control plane the settings mean."""

from __future__ import annotations

from weft.config import Settings
from weft.home import Home
from weft.mgmt.api import Mgmt

FILE = "mgmt.db"


def open_mgmt(settings: Settings, home: Home) -> Mgmt:
    """The control plane that `[mgmt] url` names, made or brought up to date if need be. Close it."""
    if settings.mgmt.url.startswith("sqlite:"):
        from weft.mgmt.sqlite import SqliteMgmt

        return SqliteMgmt(home.path / FILE, settings=settings.mgmt)
    from weft.mgmt.postgres import PostgresMgmt

    return PostgresMgmt(settings.mgmt.url, settings.mgmt)
