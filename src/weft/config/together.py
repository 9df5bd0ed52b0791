"""Checking keys that must agree with each other."""

from __future__ import annotations

from collections.abc import Mapping

from weft.config.settings import Settings
from weft.errors import SettingsError

LONGEST_IN_POSTGRESQL = 2600
"""Links are found by their uri, and PostgreSQL's index holds no longer keys."""


def check_together(settings: Settings, places: Mapping[str, str]) -> None:
    """Refuse values that are fine alone but not together; `places` says where each one stands."""
    timeout, every = settings.urlserver.timeout_spider_status, settings.spider.working_every
    if timeout < 2 * every:
        # One lost WORKING line must not look like a dead spider.
        pair = ("urlserver.timeout_spider_status", "spider.working_every")
        raise _conflict(pair, places, f"at least 2 x {every} = {2 * every} seconds", timeout)
    lease, heartbeat = settings.mgmt.lease, settings.mgmt.heartbeat
    if lease <= heartbeat:
        raise _conflict(("mgmt.lease", "mgmt.heartbeat"), places, f"more than {heartbeat} seconds", lease)
    if settings.mgmt.url.startswith("postgresql:") and settings.url.max_length > LONGEST_IN_POSTGRESQL:
        pair = ("url.max_length", "mgmt.url")
        raise _conflict(pair, places, f"at most {LONGEST_IN_POSTGRESQL} characters", settings.url.max_length)


def _conflict(pair: tuple[str, str], places: Mapping[str, str], expected: str, found: float) -> SettingsError:
    name, other = pair
    set_at = [places[key] for key in pair if places[key] != "default"]
    problem = f"expected {expected} because of {other} ({places[other]}), found {found} ({places[name]})"
    return SettingsError(name, set_at[0], problem)
