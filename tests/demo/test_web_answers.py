"""Answers as values: charsets, the memory of answers, and what a page says by the clock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.demo.web.answering.cache import AnswerCache
from weft.demo.web.answering.pages import content_type
from weft.demo.web.answering.responses import DemoRequest, DemoResponse, whole
from weft.demo.web.answering.web import Web
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import Profile
from weft.demo.web.definition.qualities import Charset, Quality

PLAN = WebPlan(hosts=6, pages=30, port=8000, page_bytes=(2_000, 6_000), links=(3, 9))
META = {"utf-8": b'<meta charset="utf-8">', "koi8-r": b'<meta charset="koi8-r">', "cp1252": b"windows-1252"}


def page_with(charset: Charset) -> tuple[str, bytes]:
    """Header and bytes of a page of this charset."""
    web = Web(replace(PLAN, profile=Profile(charsets=1.0)))
    host = web.world.hosts.numbered(1)
    found = (n for n in range(1, host.layout.pages) if web.world.state.quality(1, n).charset is charset)
    url = web.world.url(1, next(found))
    answer = web.answer(DemoRequest("GET", host.name, url.partition(":8000")[2], {}))
    head, _, body = answer.rest.partition(b"\r\n\r\n")
    assert f"Content-Type: {content_type(Quality(charset))}".encode() in head
    return head.decode(), body


@pytest.mark.parametrize(
    ("charset", "header", "meta", "real"),
    [
        (Charset.HEADER_WRONG, "iso-8859-1", "utf-8", "utf-8"),
        (Charset.META_WRONG, None, "koi8-r", "utf-8"),
        (Charset.UNKNOWN_NAME, "utf-ate", "utf-8", "utf-8"),
        (Charset.META_ONLY, None, "cp1252", "cp1252"),
    ],
)
def test_charsets_are_told_wrongly_on_purpose(charset: Charset, header: str | None, meta: str, real: str) -> None:
    head, body = page_with(charset)
    assert (f"charset={header}" in head) if header else ("charset" not in head)
    assert META[meta] in body
    assert not body.isascii()
    assert "</html>" in body.decode(real)
    if real == "cp1252":
        with pytest.raises(UnicodeDecodeError):
            body.decode("utf-8")


def test_a_byte_order_mark_tells_the_charset_alone() -> None:
    head, body = page_with(Charset.BYTE_ORDER_MARK)
    assert "charset" not in head
    assert body.startswith(b"\xff\xfe")
    assert "</html>" in body.decode("utf-16")


def answer(size: int, until: float = float("inf")) -> DemoResponse:
    return replace(whole(PageKind.PAGE, 200, [], b"x" * size), until=until)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3_000)), max_size=60))
def test_the_memory_of_answers_is_bounded_and_never_wrong(puts: list[tuple[int, int]]) -> None:
    cache, last = AnswerCache(40_000), {}
    for key, size in puts:
        made = answer(size)
        cache.put(key, made)
        last[key] = made
        found = [cache.get(other, 0.0) for other in last]
        assert sum(len(one.rest) for one in found if one) <= 40_000
        assert all(one in (None, last[other]) for other, one in zip(last, found, strict=True))
    cache.clear()
    assert all(cache.get(key, 0.0) is None for key in last)


def test_answers_are_remembered_as_long_as_they_are_true() -> None:
    cache = AnswerCache(1 << 20)
    cache.put("a", answer(10, until=5.0))
    assert cache.get("a", 4.9) is not None
    assert cache.get("a", 5.0) is None
    cache.put("b", answer(10, until=0.0))
    assert cache.get("b", -1.0) is None, "the next one may differ"


def test_a_page_changes_by_the_clock_and_no_earlier_than_it_says() -> None:
    now = [PLAN.epoch + 10.0]
    web = Web(replace(PLAN, profile=Profile(changing=1.0, change_seconds=100.0)), clock=lambda: now[0])
    host = web.world.hosts.numbered(1)
    request = DemoRequest("GET", host.name, web.world.url(1, 1).partition(":8000")[2], {})
    for _ in range(5):
        first = web.answer(request)
        now[0] = first.until - 0.001
        assert web.answer(request).rest == first.rest
        now[0] = first.until
        assert web.answer(request).version == first.version + 1
        assert web.answer(request).rest != first.rest
