"""`--scope path`: a crawl that stays at and below the path of its seeds, by patterns of their site."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

import msgspec

from weft.errors import UsageError
from weft.model.site import Site

_MOST_PATHS: Final = 100
"""Paths of one site: every URL is compared with all of them."""


def path_pattern(url: str) -> str:
    """Matches the URLs at and below the path of a seed; of a file, which has a suffix, those in its directory."""
    parts = urlsplit(url)
    directory, _, last = parts.path.rpartition("/")
    beginning = f"^https?://{re.escape(parts.netloc)}{re.escape(directory)}/"
    return beginning if not last or "." in last else rf"{beginning}{re.escape(last)}(?:[/?]|$)"


def bounded_to(site: Site, seed: str) -> Site:
    """The site, bounded to the paths of this seed and of those that bounded it before. Raises UsageError."""
    patterns = dict.fromkeys((*_path_patterns(site), path_pattern(seed)))
    if len(patterns) > _MOST_PATHS:
        raise UsageError(f"{site.name} is bounded to {_MOST_PATHS} paths already; use --scope hosts for more of it")
    return _including(site, tuple(patterns))


def unbounded(site: Site) -> Site:
    """The site without the bounds of `--scope path`; patterns that a user wrote stay."""
    paths = _path_patterns(site)
    return _including(site, tuple(each for each in site.settings.include or () if each not in paths)) if paths else site


def _path_patterns(site: Site) -> list[str]:
    made = set(map(path_pattern, site.seeds))
    return [pattern for pattern in site.settings.include or () if pattern in made]


def _including(site: Site, patterns: tuple[str, ...]) -> Site:
    return msgspec.structs.replace(site, settings=site.settings.with_setting("include", patterns or None))
