"""Table `links`: the work of each domain as a whole, and the list of domains that have some.

l:<domain>  domain:work                 how much of the domain is waiting and under way, and where waiting links begin
w:<base>    work:<moment><domain>       domains that have something to give from then on
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from weft.dispatcher.link_records import DOMAIN_ROW, moment_bytes, split_due
from weft.linkindex.keys import base_of
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

DOMAIN, WORK = b"domain", b"work"
_TABLE: Final = Table.LINKS.byte


class Fronts(msgspec.Struct, frozen=True, array_like=True):
    """The first waiting link of each class (see `fronts`), as qualifiers in order."""

    new: tuple[bytes, ...] = ()
    due: tuple[bytes, ...] = ()

    @property
    def first(self) -> int | None:
        """The moment of the first link that may be chosen; None: there is none."""
        if self.new:
            return 0
        return split_due(self.due[0])[0] if self.due else None


class DomainWork(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A domain's work as a whole."""

    first: int | None = None
    """The moment of its first link that may be chosen; None: there is none."""
    listed: int | None = None
    """The moment under which it is in the list of domains with work."""
    outstanding: int = 0
    """Links handed over to the control plane and not back yet."""
    links: int = 0
    taken: int = 0
    """Links ever chosen for the first time."""
    retrying: int = 0
    """Links that wait to be fetched again within the same crawl."""
    fronts: Fronts | None = None
    """None: written by a weft that kept none, so waiting links are looked for from the beginning."""


NO_WORK: Final = DomainWork(fronts=Fronts())
"""Of a domain without links."""
encode_work: Final = msgspec.msgpack.Encoder().encode
decode_work: Final = msgspec.msgpack.Decoder(DomainWork).decode


def work_column(domain: bytes) -> Column:
    return Column(DOMAIN_ROW + domain, DOMAIN, WORK)


def work_key(domain: bytes) -> bytes:
    return cell_key(_TABLE, *work_column(domain))


def works(reader: Reader, start: bytes = b"") -> Iterator[tuple[bytes, DomainWork]]:
    """Every domain that has a link, from `start` on, with its work."""
    for cell in reader.column(Table.LINKS, DOMAIN_ROW, DOMAIN, WORK, start=DOMAIN_ROW + start):
        yield cell.row[len(DOMAIN_ROW) :], decode_work(cell.value)


def domains(reader: Reader, start: bytes = b"") -> Iterator[bytes]:
    """Every domain that has a link, in order, from `start` on."""
    for cell in reader.column(Table.LINKS, DOMAIN_ROW, DOMAIN, WORK, start=DOMAIN_ROW + start):
        yield cell.row[len(DOMAIN_ROW) :]


def list_row(base: int) -> bytes:
    return b"w:%02x" % base


def list_key(domain: bytes, moment: int) -> bytes:
    return cell_key(_TABLE, list_row(base_of(domain)), WORK, moment_bytes(moment) + domain)


def split_listed(qualifier: bytes) -> tuple[int, bytes]:
    """(moment, domain)"""
    return split_due(qualifier)


def listed_cells(reader: Reader) -> Iterator[tuple[bytes, bytes]]:
    """The list of domains with work, as it follows from their works: for an engine that does not keep it."""
    for domain, work in works(reader):
        if work.listed is not None:
            yield list_key(domain, work.listed), b""
