"""What is exported: which rows of what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from weft.errors import UsageError
from weft.model.domain import Domain


class Subject(StrEnum):
    LINKS = "links"
    PAGES = "pages"
    DOMAINS = "domains"


class Direction(StrEnum):
    """Which references belong to a domain: those to its pages, or those that its pages make."""

    IN = "in"
    OUT = "out"


class Format(StrEnum):
    PARQUET = "parquet"
    CSV = "csv"
    SAFE_CSV = "safe-csv"
    """For spreadsheets: no cell is a formula."""
    JSONL = "jsonl"

    @property
    def suffix(self) -> str:
        return "csv" if self is Format.SAFE_CSV else self.value


SUFFIXES: Final = {
    ".parquet": Format.PARQUET,
    ".csv": Format.CSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
}

COMPRESSIONS: Final = ("zstd", "snappy", "gzip", "lz4", "none")


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Which rows of a subject are wanted; all of them unless told otherwise."""

    subject: Subject
    domains: tuple[Domain, ...] = ()
    direction: Direction = Direction.IN
    since: int | None = None
    """References that were there since then, or pages that were fetched since then; milliseconds since 1970."""
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.since is not None and self.subject is Subject.DOMAINS:
            raise UsageError("domains have no time, so `since` does not work with them")
        if self.direction is Direction.OUT and not (self.domains and self.subject is Subject.LINKS):
            raise UsageError("`direction` needs links and a domain: it chooses between links to and from a domain")

    @property
    def takes_every_row(self) -> bool:
        """Whether all rows of the subject, or of the domains, are wanted."""
        return self.since is None and self.limit is None
