"""The URL that is shown for a uri, for many uris at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.answers.view import guessed_url
from weft.linkindex import keys
from weft.linkindex.records import UNKNOWN_URI, UriInfo, decode_address
from weft.model.domain import reversed_domain
from weft.model.url import Uri, domain_of, url_of
from weft.store.api import Reader
from weft.store.tables import Table

REMEMBERED: Final = 200_000


class ShownUrls:
    """Remembers what it looked up, up to a number: the pages of a site mostly link to the same places."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[Uri, str] = {}

    def remember(self, uris: Sequence[Uri], urls: Sequence[str]) -> None:
        """Take note of pages that were read anyway: those that come after them mostly link to them."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        self._known.update(zip(uris, urls, strict=True))

    def of_targets(self, uris: Sequence[Uri], urls: Sequence[str]) -> list[str]:
        """The URL to show for each target of a reference that counts, which itself says `urls`."""
        known = self._known
        said = dict(zip(uris, urls, strict=True))
        missing = sorted(said.keys() - known.keys())
        if missing:
            known.update(self._look_up(missing, said))
        return [known[uri] for uri in uris]

    def _look_up(self, uris: list[Uri], said: dict[Uri, str]) -> dict[Uri, str]:
        cells = self._reader.get(Table.FLUO, [keys.page_column(uri.encode(), keys.CUR) for uri in uris])
        shown = {uri: decode_address(cell.value).url for uri, cell in zip(uris, cells, strict=True) if cell is not None}
        # Where one that counts says https, not all of them say http: only the others need their numbers read.
        unsure = []
        for uri in uris:
            if uri not in shown:
                if said[uri].startswith("https:"):
                    shown[uri] = url_of(uri)
                else:
                    unsure.append(uri)
        return shown | self._guess(unsure)

    def _guess(self, uris: list[Uri]) -> dict[Uri, str]:
        columns = [keys.uri_info_column(reversed_domain(domain_of(uri)).encode(), uri.encode()) for uri in uris]
        cells = self._reader.get(Table.FLUO, columns)
        infos = [UriInfo.decode(cell.value) if cell else UNKNOWN_URI for cell in cells]
        return {uri: guessed_url(uri, info) for uri, info in zip(uris, infos, strict=True)}
