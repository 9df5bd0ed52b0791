"""Every rule of the protocol is needed: without it, some history goes wrong."""

from __future__ import annotations

import pytest

from simulation.playing import first_noticed
from simulation.removals import REMOVALS, Removal

MOST = 300
"""Histories until the removal must have been noticed; most need fewer than 10."""


@pytest.mark.parametrize("removal", REMOVALS, ids=lambda removal: removal.rule)
def test_without_it_a_history_goes_wrong(removal: Removal) -> None:
    with removal.without():
        noticed = first_noticed(removal.parts, range(MOST))
    assert noticed is not None
