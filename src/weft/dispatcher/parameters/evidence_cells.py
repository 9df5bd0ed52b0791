"""Evidence and rules in table `links`.

l:<domain>  evidence:p<path>           what was seen on a path
            evidence:h<host>           what its paths show together
            rule:<rule>                when a rule was learned, and what it saved
r:<base>    sweep:<domain>\\0<prefix>   hidden links to reconsider, and how far that got
            hand:<site>                the site's parameter settings when they were last compared

<base> is that of the domain, or of the site's domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from weft.dispatcher.link_records import DOMAIN_ROW
from weft.dispatcher.parameters.host_evidence import HostEvidence
from weft.dispatcher.parameters.parameter_rules import ParameterRule
from weft.dispatcher.parameters.path_evidence import PathEvidence
from weft.linkindex.keys import base_row
from weft.model.domain import reversed_domain
from weft.model.host import domain_of_host
from weft.store.api import Cell, Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

EVIDENCE, RULE, SWEEP, USER_RULES = b"evidence", b"rule", b"sweep", b"hand"
PATH, HOST = b"p", b"h"
_TASK_ROWS: Final = b"r:"
_END: Final = b"\0"


class RuleRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a rule apart from its evidence. Moments are milliseconds since 1970, 0 for never."""

    learned: int = 0
    dropped: int = 0
    saved: int = 0
    """Links that it hid before they were ever fetched."""
    text: str = ""


encode: Final = msgspec.msgpack.Encoder().encode
decode_path: Final = msgspec.msgpack.Decoder(PathEvidence).decode
decode_host: Final = msgspec.msgpack.Decoder(HostEvidence).decode
decode_rule: Final = msgspec.msgpack.Decoder(RuleRecord).decode


def path_column(domain: bytes, path: str) -> Column:
    return Column(DOMAIN_ROW + domain, EVIDENCE, PATH + path.encode())


def host_column(domain: bytes, host: str) -> Column:
    return Column(DOMAIN_ROW + domain, EVIDENCE, HOST + host.encode())


def rule_column(domain: bytes, rule: ParameterRule) -> Column:
    values = [] if rule.values is None else ["&".join(value) for value in sorted(rule.values)]
    name = "\0".join([rule.reach.value, rule.where, "&".join(rule.names), *values])
    return Column(DOMAIN_ROW + domain, RULE, name.encode())


def sweep_column(domain: bytes, prefix: bytes) -> Column:
    return Column(base_row(_TASK_ROWS, domain), SWEEP, domain + _END + prefix)


def split_sweep(qualifier: bytes) -> tuple[bytes, bytes]:
    """(domain, prefix of uris)"""
    domain, _, prefix = qualifier.partition(_END)
    return domain, prefix


def user_rules_column(site: str) -> Column:
    domain = reversed_domain(domain_of_host(site)).encode()
    return Column(base_row(_TASK_ROWS, domain), USER_RULES, site.encode())


def task_cells(reader: Reader, family: bytes, limit: int | None = None) -> Iterator[Cell]:
    """Cells of one family in the rows of all bases, at most `limit` of each."""
    for row in reader.rows(Table.LINKS, _TASK_ROWS):
        yield from reader.scan(Table.LINKS, row, family, limit=limit)


def key_of(column: Column) -> bytes:
    return cell_key(Table.LINKS.byte, *column)
