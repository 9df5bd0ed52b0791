"""Why a link is not crawled: the kinds of reasons, and one reason with its details."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, Self

from weft.model.content_type import media_type_of


class RefusalKind(StrEnum):
    """What refused links are counted by.

    A refusal that follows from settings is reconsidered when these change. One that only counts links without
    keeping a record of each has nothing to reconsider.
    """

    is_reconsidered: bool
    separator: str
    """What stands between the kind and its details in the text that is stored and shown."""

    def __new__(cls, value: str, is_reconsidered: bool) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.is_reconsidered = is_reconsidered
        member.separator = ", " if ": " in value else ": "
        return member

    OUT_OF_SCOPE = "out of scope", True
    EXCLUDED = "excluded", True
    DEPTH = "depth", True
    PATTERN = "pattern", True
    TYPE = "type", True
    BUDGET = "budget", True
    DOMAINS = "domains of any scope", True
    REDIRECTS = "redirects", True

    # URLs that look like one of endlessly many.
    LONG_PATH = "trap: long path", True
    DEEP_PATH = "trap: deep path", True
    REPEATED_PART = "trap: repeated part", True
    REPEATED_RUN = "trap: repeated run", True
    MANY_PARAMETERS = "trap: many parameters", True
    REPEATED_PARAMETER = "trap: repeated parameter", True
    URL_WITHIN_URL = "trap: URL within a URL", True
    ENDLESS_CALENDAR = "trap: endless calendar", True
    GROWING_QUERY = "trap: growing query", True
    CHANGING_SESSION = "trap: changing session", True

    # A learned rule hides these, and only the end of that rule brings them back.
    PARAMETERS = "parameters", False

    # Counted without a record.
    LINKS_OF_A_HOST = "trap: links of a host", False
    HOSTS_OF_A_DOMAIN = "trap: hosts of a domain", False
    LINKS_OF_A_DOMAIN = "links of the domain", False
    NESTED_SITEMAPS = "sitemaps within sitemaps", False


RECONSIDERED: Final = frozenset(kind for kind in RefusalKind if kind.is_reconsidered)


class Refusal(NamedTuple):
    kind: RefusalKind
    detail: str = ""

    @property
    def text(self) -> str:
        """As link records store it and people read it; `read` is the way back."""
        return f"{self.kind}{self.kind.separator}{self.detail}" if self.detail else str(self.kind)

    @classmethod
    def read(cls, text: str) -> Refusal | None:
        """The refusal that a stored text names; None where there is none, or none that this version knows."""
        if not text:  # as in nearly all records
            return None
        for kind in RefusalKind:
            if text == kind:
                return cls(kind)
            if text.startswith(kind + kind.separator):
                return cls(kind, text[len(kind) + len(kind.separator) :])
        return None


_BY_HEADER: Final = " by the header of its response"


def type_by_header(content_type: str) -> Refusal:
    """A file is not wanted because of the type that its response names."""
    return Refusal(RefusalKind.TYPE, f"{media_type_of(content_type)}{_BY_HEADER}")


def type_in_header(reason: str) -> str | None:
    """The type that a stored refusal of this kind names; None for any other reason."""
    refusal = Refusal.read(reason)
    if refusal is None or refusal.kind is not RefusalKind.TYPE or not refusal.detail.endswith(_BY_HEADER):
        return None
    return refusal.detail.removesuffix(_BY_HEADER)
