"""What the control plane forgets about a web host when a person wants a page of it now."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from weft.mgmt.values import Robots, Seed


def forgotten_origins(seeds: Iterable[Seed]) -> list[str]:
    """Origins whose robots.txt is fetched again if it could not be fetched the last time."""
    origins: set[str] = set()
    for seed in seeds:
        scheme, host = urlsplit(seed.url)[:2]
        origins.update(f"{each}://{host}" for each in {scheme, "http" if seed.any_scheme else scheme})
    return sorted(origins)


def is_unusable(robots: Robots) -> bool:
    """Whether the last fetch told nothing about what may be fetched."""
    return robots.status in (0, 429) or robots.status >= 500
