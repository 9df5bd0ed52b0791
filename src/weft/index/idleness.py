"""Since when an index process has had nothing to do, told such that others can conclude that nothing will follow."""

from __future__ import annotations


class Idleness:
    """Moments of the clock that nobody sets, which all processes of a machine share.

    If nothing waited and nothing was under way at a moment between `since` and `looked`, then nothing follows by
    itself any more: every step since then was whole and found nothing, and no earlier one was still handing out links.
    """

    def __init__(self) -> None:
        self._since: int | None = None
        self._looked = 0

    def worked(self) -> None:
        """A step had something to do."""
        self._since = None

    def found_nothing(self, began: int) -> None:
        """A step that began at this moment had nothing to do."""
        self._since, self._looked = began if self._since is None else self._since, began

    def facts(self) -> dict[str, int] | None:
        """The beginnings of the first and the last step in a row that had nothing to do; None: the last one had."""
        return None if self._since is None else {"since": self._since, "looked": self._looked}
