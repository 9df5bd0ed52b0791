"""Applies the rules when a segment is chosen: hides links, and sends samples with what they are compared to."""

from __future__ import annotations

from collections.abc import Iterable

from weft.config.sections import DispatcherSettings
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.dispatcher.parameters.hidden_links import UserRuleChanges, hidden, make_known, stand_in, sweep
from weft.dispatcher.parameters.parameter_round import ParameterRound
from weft.dispatcher.parameters.path_evidence import MOMENT
from weft.dispatcher.parameters.reduction import Reduced, is_sampled
from weft.dispatcher.scope import Scope
from weft.linkindex.cells import Cells
from weft.model.url import PageUrl
from weft.store.api import Reader


class SegmentFilter:
    """One step's view of the rules; it changes records in the step's round."""

    def __init__(self, reader: Reader, links: LinkRound, settings: DispatcherSettings, scope: Scope, now: int) -> None:
        self._links, self._settings, self._scope, self._now = links, settings, scope, now
        self._rules = ParameterRound(reader, settings)
        self._samples: dict[bytes, Reduced] = {}
        self._swept = sweep(reader, links, self._rules, scope, now)

    @property
    def looked_at(self) -> int:
        return self._swept.looked_at

    def prepare(self, domain: bytes, uris: Iterable[bytes]) -> None:
        """Read the evidence for a whole segment at once."""
        if self._settings.learn_parameters:
            self._rules.read((domain, uri) for uri in uris if b"?" in uri)

    def hides(self, domain: bytes, page: PageUrl, record: LinkRecord) -> bool:
        """Hide a link if another one is fetched in its place; a sample is fetched once all the same."""
        if not self._settings.learn_parameters:
            return False
        reduced = stand_in(self._rules, self._scope, domain, page, record.depth)
        if reduced is None:
            return False
        uri = page.uri.encode()
        if not record.fetched and is_sampled(page.uri, self._settings.rule_sample, reduced.doubt):
            self._samples[uri] = reduced
            return False
        self._links.put(domain, uri, hidden(record, reduced))
        make_known(self._links, domain, reduced, record)
        if not record.fetched:
            self._rules.hid(domain, reduced)
        return True

    def companion(self, domain: bytes, uri: bytes) -> tuple[bytes, LinkRecord] | None:
        """What a sample is to be compared to, if it must be fetched again: only texts of one time can contradict."""
        reduced = self._samples.get(uri)
        if reduced is None:
            return None
        other = reduced.page.uri.encode()
        record = self._links.read([(domain, other)])[0]
        if record is None or record.phase is not LinkPhase.DUE or not record.fetched:
            return None
        return (other, record) if self._now - record.fetched > MOMENT else None

    def cells(self, user_rules: UserRuleChanges) -> Cells:
        return {**self._swept.cells, **self._rules.cells(), **user_rules.changes(self._scope)}
