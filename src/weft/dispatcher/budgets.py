"""How many links of each site were ever chosen, which its budget limits."""

from __future__ import annotations

from weft.linkindex.cells import Cells
from weft.model.refusal import Refusal, RefusalKind
from weft.model.site import Site
from weft.store.api import Column, Reader
from weft.store.encoding import cell_key
from weft.store.tables import Table

_SITE, _TAKEN = b"site", b"taken"


class Budgets:
    """Counted in the batch that takes the links: both are written or neither."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._taken: dict[str, int] = {}

    def take(self, site: Site) -> None:
        """A new link of this site was chosen."""
        self._taken[site.name] = self.taken(site.name) + 1

    def exhausted(self, site: Site) -> Refusal | None:
        """Why no new link of this site may be chosen now; None if one may."""
        budget = site.settings.budget
        if budget is None or self.taken(site.name) < budget:
            return None
        return Refusal(RefusalKind.BUDGET, f"{budget} links of {site.name} were crawled")

    def taken(self, name: str) -> int:
        if name not in self._taken:
            cell = self._reader.get(Table.LINKS, [_column(name)])[0]
            self._taken[name] = int(cell.value) if cell else 0
        return self._taken[name]

    def cells(self) -> Cells:
        return {cell_key(Table.LINKS.byte, *_column(name)): b"%d" % taken for name, taken in self._taken.items()}


def _column(name: str) -> Column:
    return Column(b"s:" + name.encode(), _SITE, _TAKEN)
