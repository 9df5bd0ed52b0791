"""URLs that look like a trap: endless paths and queries that lead to nothing new."""

from __future__ import annotations

from collections import Counter

from weft.config.crawl_sections import DispatcherSettings


def trap(target: str, settings: DispatcherSettings) -> str:
    """Why a path with its query looks like a trap; nothing if it does not."""
    if len(target) > settings.path_chars:
        return f"trap: path and query of {len(target)} characters, over {settings.path_chars}"
    path, _, query = target.partition("?")
    parts = [part for part in path.split("/") if part]
    if len(parts) > settings.path_segments:
        return f"trap: a path of {len(parts)} parts, over {settings.path_segments}"
    if parts:
        part, times = Counter(parts).most_common(1)[0]
        if times > settings.repeated_segments:
            return f"trap: {part!r} stands {times} times in the path, over {settings.repeated_segments}"
    parameters = query.count("&") + 1 if query else 0
    if parameters > settings.parameters:
        return f"trap: {parameters} parameters, over {settings.parameters}"
    return ""
