"""Traps that a URL alone shows: too long, too deep, the same again and again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from weft.config.sections import DispatcherSettings
from weft.model.refusal import Refusal, RefusalKind

# `/a` became `%2Fa`, that `%252Fa`, that `%25252Fa`: each page puts the URL of the last one into its own.
_ENCODED_AGAIN: Final = re.compile(r"%((?:25){2,})")
_SHORTEST_RUN: Final = 2


def trap(target: str, settings: DispatcherSettings) -> Refusal | None:
    """Why a path with its query looks like a trap; None if it does not."""
    return None if _is_plain(target, settings) else judged(target, settings)


def judged(target: str, settings: DispatcherSettings) -> Refusal | None:
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


def long_target(target: str, most: int) -> Refusal | None:
    if len(target) <= most:
        return None
    return Refusal(RefusalKind.LONG_PATH, f"{len(target)} characters with its query, over {most}")


def deep_path(parts: Sequence[str], most: int) -> Refusal | None:
    return Refusal(RefusalKind.DEEP_PATH, f"{len(parts)} parts, over {most}") if len(parts) > most else None


def repeated_part(parts: Sequence[str], most: int) -> Refusal | None:
    if len(parts) - len(set(parts)) < most:
        return None
    part, times = Counter(parts).most_common(1)[0]
    # Numbers repeat by chance: `/tiles/0/0/0/0`.
    if times <= most or part.isdigit():
        return None
    return Refusal(RefusalKind.REPEATED_PART, f"{part!r} stands {times} times in the path, over {most}")


def repeated_run(parts: Sequence[str], most: int) -> Refusal | None:
    """Several parts that follow themselves: `/a/b/a/b/a/b`."""
    if len(set(parts)) == len(parts):
        return None
    for length in range(_SHORTEST_RUN, len(parts) // (most + 1) + 1):
        in_a_row = 0
        for at in range(length, len(parts)):
            in_a_row = in_a_row + 1 if parts[at] == parts[at - length] else 0
            if in_a_row == length * most:
                run = "/".join(parts[at - length + 1 : at + 1])
                return Refusal(RefusalKind.REPEATED_RUN, f"{run!r} stands {most + 1} times in a row, over {most}")
    return None


def many_parameters(parameters: Sequence[str], most: int) -> Refusal | None:
    if len(parameters) <= most:
        return None
    return Refusal(RefusalKind.MANY_PARAMETERS, f"{len(parameters)} parameters, over {most}")


def repeated_parameter(parameters: Sequence[str], most: int) -> Refusal | None:
    """The same name with the same value; a name alone may stand often, as in a form with many boxes."""
    if len(parameters) - len(set(parameters)) < most:
        return None
    parameter, times = Counter(parameters).most_common(1)[0]
    if times <= most:
        return None
    return Refusal(RefusalKind.REPEATED_PARAMETER, f"{parameter!r} stands {times} times, over {most}")


def encoded_again(target: str, most: int) -> Refusal | None:
    """How many times a part was percent-encoded, each time with what was there before."""
    if "%2525" not in target:
        return None
    times = max(len(found) // 2 for found in _ENCODED_AGAIN.findall(target)) + 1
    return Refusal(RefusalKind.URL_WITHIN_URL, f"percent-encoded {times} times, over {most}") if times > most else None
