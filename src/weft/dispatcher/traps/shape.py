"""Traps that a URL alone shows: too long, too deep, the same again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.config.crawl_sections import DispatcherSettings

# `/a` became `%2Fa`, that `%252Fa`, that `%25252Fa`: each page puts the URL of the last one into its own.
_ENCODED_AGAIN: Final = re.compile(r"%((?:25){2,})")
_SHORTEST_RUN: Final = 2


def trap(target: str, settings: DispatcherSettings) -> str:
    """Why a path with its query looks like a trap; nothing if it does not."""
    return "" if _is_plain(target, settings) else judged(target, settings)


def judged(target: str, settings: DispatcherSettings) -> str:
    path, _, query = target.partition("?")
    parts = [part for part in path.split("/") if part]
    parameters = [parameter for parameter in query.split("&") if parameter]
    return (
        long_target(target, settings.path_chars)
        or deep_path(parts, settings.path_segments)
        or repeated_part(parts, settings.repeated_segments)
        or repeated_run(parts, settings.repeated_runs)
        or many_parameters(parameters, settings.parameters)
        or repeated_parameter(parameters, settings.repeated_segments)
        or encoded_again(target, settings.encoded_times)
    )


def _is_plain(target: str, settings: DispatcherSettings) -> bool:
    """Most URLs: too few parts for any of it."""
    fewest = min(settings.path_segments, settings.repeated_segments, _SHORTEST_RUN * (settings.repeated_runs + 1) - 1)
    return (
        "?" not in target
        and "%2525" not in target
        and target.count("/") <= fewest
        and len(target) <= settings.path_chars
    )


def long_target(target: str, most: int) -> str:
    return f"trap: long path, {len(target)} characters with its query, over {most}" if len(target) > most else ""


def deep_path(parts: Sequence[str], most: int) -> str:
    return f"trap: deep path, {len(parts)} parts, over {most}" if len(parts) > most else ""


def repeated_part(parts: Sequence[str], most: int) -> str:
    if len(parts) - len(set(parts)) < most:
        return ""
    part, times = Counter(parts).most_common(1)[0]
    # Numbers repeat by chance: `/tiles/0/0/0/0`.
    if times <= most or part.isdigit():
        return ""
    return f"trap: repeated part, {part!r} stands {times} times in the path, over {most}"


def repeated_run(parts: Sequence[str], most: int) -> str:
    """Several parts that follow themselves: `/a/b/a/b/a/b`."""
    if len(set(parts)) == len(parts):
        return ""
    for length in range(_SHORTEST_RUN, len(parts) // (most + 1) + 1):
        in_a_row = 0
        for at in range(length, len(parts)):
            in_a_row = in_a_row + 1 if parts[at] == parts[at - length] else 0
            if in_a_row == length * most:
                run = "/".join(parts[at - length + 1 : at + 1])
                return f"trap: repeated run, {run!r} stands {most + 1} times in a row, over {most}"
    return ""


def many_parameters(parameters: Sequence[str], most: int) -> str:
    return f"trap: many parameters, {len(parameters)} parameters, over {most}" if len(parameters) > most else ""


def repeated_parameter(parameters: Sequence[str], most: int) -> str:
    """The same name with the same value; a name alone may stand often, as in a form with many boxes."""
    if len(parameters) - len(set(parameters)) < most:
        return ""
    parameter, times = Counter(parameters).most_common(1)[0]
    return f"trap: repeated parameter, {parameter!r} stands {times} times, over {most}" if times > most else ""


def encoded_again(target: str, most: int) -> str:
    """How many times a part was percent-encoded, each time with what was there before."""
    if "%2525" not in target:
        return ""
    times = max(len(found) // 2 for found in _ENCODED_AGAIN.findall(target)) + 1
    return f"trap: URL within a URL, percent-encoded {times} times, over {most}" if times > most else ""
