"""Links of pages without a number: a calendar without end, folders within folders, what stands in the place of 404."""

from __future__ import annotations

from weft.demo.web.definition.links import PageLink
from weft.demo.web.definition.resources import month_of

_FOLDERS = ("more", "next", "other")


def calendar_links(origin: str, path: str) -> list[PageLink]:
    """The month before, the month after, and home."""
    year, month = month_of(path)
    before = (year, month - 1) if month > 1 else (max(year - 1, 0), 12)
    after = (year, month + 1) if month < 12 else ((year + 1) % 10_000, 1)
    months = [(f"/calendar/{year:04d}/{month:02d}/", f"{year:04d}-{month:02d}") for year, month in (before, after)]
    return [PageLink(origin + path, path, words) for path, words in [*months, ("/", "home")]]


def deep_links(origin: str, path: str) -> list[PageLink]:
    below = [PageLink(f"{origin}{path}{name}/", f"{name}/", name) for name in _FOLDERS]
    return [*below, PageLink(f"{origin}/", "/", "home")]


def soft_links(origin: str) -> list[PageLink]:
    """What a host shows, with 200, where others answer 404."""
    return [PageLink(f"{origin}/", "/", "back to the start")]
