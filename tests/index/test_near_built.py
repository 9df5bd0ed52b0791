"""Near-duplicates of crawled pages: found with their distance, folded on request, gone with the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.built_world import World
from weft.answers.objects import FoldedItem
from weft.store.tables import Table

TEXT = " ".join(f"word{n} of a long text" for n in range(200))
OTHER = " ".join(f"nothing {n * 7919} here is like that {n}x" for n in range(200))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        made.crawl("https://a.com/1", f"<p>{TEXT}</p>")
        made.crawl("https://a.com/2", f"<p>{TEXT}</p>")
        made.crawl("https://b.com/other", f"<p>{OTHER} <a href='https://a.com/1'>one</a></p>")
        yield made


def test_a_page_names_those_that_say_nearly_the_same(world: World) -> None:
    near = world.answers.page("https://a.com/1").near
    assert [(item.url, item.distance) for item in near] == [("https://a.com/2", 0)]
    assert world.answers.page("https://b.com/other").near == []


def test_a_page_that_is_gone_is_like_no_other(tmp_path: Path) -> None:
    with closing(World(tmp_path)) as world:
        world.crawl("https://a.com/1", f"<p>{TEXT}</p>")
        world.again()
        world.crawl("https://a.com/1", status=404)
        world.crawl("https://a.com/2", f"<p>{TEXT}</p>")
        assert world.answers.page("https://a.com/2").near == []
        assert len(list(world.store.scan_rows(Table.LINKS, b"n:"))) == 4


@pytest.mark.parametrize("domain", [None, "a.com"])
def test_a_listing_folds_pages_that_say_nearly_the_same(world: World, domain: str | None) -> None:
    whole, less = world.answers.top(domain), world.answers.top(domain, fold=True)
    assert len(whole.items) == len(less.items) + 1 == less.count + 1
    assert less.total == whole.total
    first = less.items[0]
    assert isinstance(first, FoldedItem)
    assert (first.url, first.near) == ("https://a.com/1", ["https://a.com/2"])
    assert all(item.near == [] for item in less.items[1:])
