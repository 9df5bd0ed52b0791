"""What became of links, in the words of people: what went wrong, what is forbidden, and what may be had later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.model.fetch_error import FetchError, is_temporary_status

_FORBIDDEN_BY: Final = {
    FetchError.ROBOTS: "robots.txt",
    FetchError.PRIVATE_ADDRESS: "private address",
    FetchError.PORT: "port",
}


def failures_of(errors: Mapping[str, int]) -> dict[str, int]:
    """Of links without an answer those where something went wrong, by class."""
    return {name: number for name, number in errors.items() if not FetchError.of(name).is_refusal}


def refusals_of(errors: Mapping[str, int]) -> dict[str, int]:
    """Of links without an answer those that were left out on purpose, by what forbids them."""
    return {name: errors[error] for error, name in _FORBIDDEN_BY.items() if errors.get(error)}


def missed_of(statuses: Mapping[str, int], errors: Mapping[str, int]) -> dict[str, int]:
    """Pages that may be had later, by status or class of error."""
    answered = {status: number for status, number in statuses.items() if is_temporary_status(int(status))}
    return answered | {name: number for name, number in errors.items() if FetchError.of(name).is_temporary}


def by_outcome(links: Mapping[str, int], statuses: Mapping[str, int], errors: Mapping[str, int]) -> dict[str, int]:
    """Links by what became of them. An error status is no page, and what is forbidden has not failed."""
    forbidden = sum(refusals_of(errors).values())
    return {
        "waiting": links.get("pending", 0),
        "being fetched": links.get("crawling", 0),
        "crawled": links.get("crawled", 0) - sum(statuses.values()),
        **{f"answered {status}": number for status, number in sorted(statuses.items())},
        "failed": links.get("error", 0) - forbidden,
        "not allowed": forbidden,
    }
