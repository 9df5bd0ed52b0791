"""Refusals are stored as text and read back as what they were."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.refusal import RECONSIDERED, Refusal, RefusalKind

DOCUMENT = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8")


@given(st.sampled_from(RefusalKind), st.text())
def test_a_refusal_survives_being_stored(kind: RefusalKind, detail: str) -> None:
    refusal = Refusal(kind, detail)
    assert Refusal.read(refusal.text) == refusal


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        ("out of scope", RefusalKind.OUT_OF_SCOPE),
        ("depth: 5 hops, over 3", RefusalKind.DEPTH),
        ("trap: deep path, 21 parts, over 20", RefusalKind.DEEP_PATH),
        ("parameters: lang=en on com.test/a -> com.test/a", RefusalKind.PARAMETERS),
    ],
)
def test_texts_of_the_first_version_are_read(stored: str, kind: RefusalKind) -> None:
    refusal = Refusal.read(stored)
    assert refusal is not None
    assert (refusal.kind, refusal.text) == (kind, stored)


@pytest.mark.parametrize("text", ["", "depth", "because", "trap: unheard of, 3"])
def test_what_is_no_refusal_is_none_unless_it_names_a_kind(text: str) -> None:
    assert Refusal.read(text) == (Refusal(RefusalKind.DEPTH) if text == "depth" else None)


def test_only_what_leaves_a_record_is_reconsidered() -> None:
    counted = {kind for kind in RefusalKind if kind not in RECONSIDERED}
    assert RefusalKind.PARAMETERS in counted
    assert counted >= {RefusalKind.LINKS_OF_A_HOST, RefusalKind.HOSTS_OF_A_DOMAIN}


def test_the_document_lists_every_kind() -> None:
    listed = re.findall(r"^\| `([^`]+)` \| (yes|no) \|", DOCUMENT, re.MULTILINE)
    assert dict(listed) == {str(kind): "yes" if kind.is_reconsidered else "no" for kind in RefusalKind}
