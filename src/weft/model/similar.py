"""What somebody may have meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_MOST_COMPARED: Final = 10_000


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """For behind a sentence that says that `name` does not exist: ` (did you mean links?)`, or nothing."""
    near = get_close_matches(name, list(known)[:_MOST_COMPARED], n=1, cutoff=0.6)
    return f" (did you mean {near[0]}?)" if near else ""
