"""What is searchable follows from the store's state, exactly, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_webs import RULES, pages
from support.search_world import STORE, SearchWorld
from weft.config.sections import IndexSettings
from weft.linkindex.feed import feed_all_cells
from weft.linkindex.loaded import LoadedPage, RawLink, load_gone, load_page
from weft.linkindex.pipeline import LinkIndex
from weft.linkindex.records import Doc
from weft.search.indexer import Indexer, shard_of
from weft.search.local_shards import LocalShards
from weft.search.pending_references import REST
from weft.search.schema import FORMAT
from weft.search.shard import Cursors, ShardDirectory, ShardHeld
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.timeline import begin_timeline, source_of


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SearchWorld]:
    made = SearchWorld(tmp_path / "row")
    yield made
    made.close()


def page(url: str, *links: tuple[str, str], at: int = 1, **doc: object) -> LoadedPage:
    raw = [RawLink(href, anchor) for href, anchor in links]
    return load_page(RULES, RULES.identify(url), at, raw, Doc(**doc))  # type: ignore[arg-type]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("load"), st.lists(pages(), min_size=1, max_size=4)),
        st.tuples(st.sampled_from(["step", "wait", "reopen", "all", "long wait"]), st.just([])),
    ),
    max_size=15,
)


@settings(max_examples=25)
@given(history=steps, shards=st.sampled_from([1, 3]))
def test_any_history_of_rounds_steps_and_restarts_ends_exact(
    history: list[tuple[str, list[LoadedPage]]], shards: int
) -> None:
    with TemporaryDirectory() as place:
        world = SearchWorld(Path(place) / "row", shards)
        for what, loaded in history:
            if what == "load":
                world.load(*loaded)
            elif what == "step":
                world.indexer.step()
            elif what == "reopen":
                world.reopen()
            elif what == "all":
                batch = Batch()
                batch.add(feed_all_cells(world.store.last_seq + 1))
                world.store.write(batch, world.store.last_seq + 1)
            else:
                world.clock.advance(REST / 1000 if what == "wait" else 601)
        world.indexer.finish()
        assert world.held() == world.expected()
        assert world.indexer.cursors == Cursors(world.store.last_seq, world.store.last_seq)
        world.close()


def test_content_is_found_at_once_and_references_when_the_feed_rests(world: SearchWorld) -> None:
    world.load(page("http://a.com/", ("http://b.com/", "words"), text="hello"))
    done = world.indexer.step()
    assert (done.content, done.references) == (1, 0)
    assert set(world.held()) == {"com.a"}
    world.clock.advance(REST / 1000)
    assert world.indexer.step().references == 1
    assert set(world.held()) == {"com.a", "com.b"}


def test_a_page_that_many_link_to_is_written_once_for_all_of_them(world: SearchWorld) -> None:
    for number in range(50):
        world.load(page(f"http://s{number}.com/", ("http://target.com/", f"word{number}")))
        world.clock.advance(1)
        world.indexer.step()
    world.indexer.finish()
    assert world.indexer.documents == 50 + 1
    assert world.held() == world.expected()


def test_references_are_written_in_time_even_if_the_feed_never_rests(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path / "row", anchors_every=5)
    for number in range(10):
        world.load(page(f"http://s{number}.com/", ("http://target.com/", "word")))
        world.clock.advance(1)
        world.indexer.step()
    assert "com.target" in world.held()
    world.close()


def test_a_page_that_asks_not_to_be_found_is_found_by_nothing(world: SearchWorld) -> None:
    world.load(page("http://a.com/", ("http://b.com/", "secret")), page("http://b.com/", text="hidden", noindex=True))
    world.indexer.finish()
    assert set(world.held()) == {"com.a"}
    world.load(page("http://b.com/", at=2, text="open now"))
    world.indexer.finish()
    assert set(world.held()) == {"com.a", "com.b"}


def test_a_referenced_page_that_turns_out_to_be_gone_is_found_no_longer(world: SearchWorld) -> None:
    world.load(page("http://a.com/", ("http://b.com/", "words")))
    world.indexer.finish()
    assert "com.b" in world.held()
    world.load(load_gone(RULES.identify("http://b.com/"), 5))
    world.indexer.finish()
    assert set(world.held()) == {"com.a"} == set(world.expected())


def test_a_page_with_other_links_and_the_same_text_is_not_written_again(world: SearchWorld) -> None:
    world.load(page("http://a.com/", text="same"))
    world.indexer.finish()
    world.load(page("http://a.com/", ("http://b.com/", "x"), at=2, text="same"))
    assert world.indexer.step().content == 0


def test_another_store_or_number_of_shards_is_built_anew(world: SearchWorld) -> None:
    world.load(page("http://a.com/", text="one"))
    world.indexer.finish()
    world.indexer.close()
    other = MemoryStore()
    LinkIndex(other, IndexSettings()).apply([page("http://z.com/", text="other")])
    indexer = Indexer(other, world.path, "another-store", world.settings, world.clock)
    indexer.own([0])
    assert indexer.built == 1
    indexer.close()


def test_a_store_that_was_put_back_to_an_earlier_state_is_built_anew(world: SearchWorld) -> None:
    world.load(page("http://a.com/", text="one"))
    world.load(page("http://b.com/", text="two"))
    world.indexer.finish()
    world.indexer.close()
    world.store = MemoryStore()
    world.index = LinkIndex(world.store, IndexSettings(), world.clock)
    world.load(page("http://a.com/", text="one"))
    world.indexer = world.open()
    assert world.held() == world.expected()
    assert set(world.held()) == {"com.a"}


def test_one_that_went_on_after_it_was_put_back_is_built_anew(world: SearchWorld) -> None:
    """Nobody could tell by seqs: the new past is as long as the old one."""
    world.load(page("http://a.com/", text="one"))
    world.load(page("http://b.com/", text="two"))
    world.load(page("http://c.com/", text="three"))
    world.indexer.finish()
    world.indexer.close()
    world.store = MemoryStore()
    world.index = LinkIndex(world.store, IndexSettings(), world.clock)
    world.load(page("http://a.com/", text="one"))
    begin_timeline(world.store)
    world.load(page("http://d.com/", text="four"))
    world.load(page("http://e.com/", text="five"))
    world.indexer = world.open()
    world.indexer.finish()
    assert world.held() == world.expected()
    assert set(world.held()) == {"com.a", "com.d", "com.e"}
    built = world.indexer.built
    world.reopen()
    assert (built, world.indexer.built) == (1, 0), "only once"


def test_a_feed_that_was_dropped_meanwhile_is_noticed(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path / "row")
    world.index = LinkIndex(world.store, IndexSettings(feed_days=1), world.clock)
    world.load(page("http://a.com/", text="one"))
    for number in range(3):
        world.clock.advance(2 * 86_400)
        world.load(page("http://a.com/", at=number + 2, text=f"number{number}"))
    assert world.indexer.built == 1
    world.indexer.step()
    assert world.indexer.built == 2
    world.indexer.finish()
    assert world.held() == world.expected()
    world.close()


def test_a_damaged_directory_is_built_anew(world: SearchWorld) -> None:
    world.load(page("http://a.com/", text="one"))
    world.indexer.finish()
    world.indexer.close()
    current = world.directories()[0].current()
    assert current is not None
    (current / "meta.json").write_text("{")
    world.indexer = world.open()
    assert world.held() == world.expected()


def test_the_generation_of_before_is_there_until_the_new_one_is_whole(world: SearchWorld, monkeypatch) -> None:
    world.load(page("http://a.com/", text="one"))
    world.indexer.finish()
    seen = []
    switch = ShardDirectory.switch

    def watched(directory: ShardDirectory, generation: Path) -> None:
        seen.append(directory.current())
        switch(directory, generation)

    monkeypatch.setattr(ShardDirectory, "switch", watched)
    before = world.directories()[0].current()
    batch = Batch()
    batch.add(feed_all_cells(world.store.last_seq + 1))
    world.store.write(batch, world.store.last_seq + 1)
    world.indexer.step()
    assert seen == [before]
    assert world.directories()[0].current() != before
    assert not before.exists()


def test_an_index_of_the_format_before_answers_until_the_new_one_is_whole(world: SearchWorld, monkeypatch) -> None:
    world.load(page("http://a.com/", text="one"))
    world.indexer.finish()
    world.indexer.close()
    note = world.path / "shard-000" / "current"
    note.write_text(note.read_text().replace(f'"format":{FORMAT}', '"format":1'))
    before = world.directories()[0].current()
    assert before is not None, "of the old format, and read"
    answered = []
    switch = ShardDirectory.switch

    def watched(directory: ShardDirectory, generation: Path) -> None:
        answered.append(LocalShards.open(world.path, source_of(world.store), 1).complete_to)
        switch(directory, generation)

    monkeypatch.setattr(ShardDirectory, "switch", watched)
    world.indexer = world.open()
    assert answered == [world.store.last_seq]
    assert world.directories()[0].current_of_format() == world.directories()[0].current() != before
    assert world.held() == world.expected()
    note.write_text(note.read_text().replace(f'"format":{FORMAT}', '"format":99'))
    assert world.directories()[0].current() is None, "of a weft to come"


def test_a_shard_has_one_writer(world: SearchWorld) -> None:
    second = Indexer(world.store, world.path, STORE, world.settings, world.clock)
    (held,) = second.own([0])
    assert isinstance(held, ShardHeld)
    assert "another weft" in held.holder
    assert second.shards == frozenset()
    second.finish()


def test_shards_divide_the_pages_and_move_with_what_they_know(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path / "row", shards=4)
    world.load(*(page(f"http://s{number}.com/", text=f"word{number}") for number in range(20)))
    world.indexer.finish()
    world.indexer.own([0, 1])
    other = Indexer(world.store, world.path, STORE, world.settings, world.clock)
    assert other.own([2, 3]) == []
    assert other.built == 0
    world.load(*(page(f"http://s{number}.com/", at=2, text=f"again{number}") for number in range(20)))
    world.indexer.finish()
    other.finish()
    assert world.held() == world.expected()
    assert {shard_of(uri.encode(), 4) for uri in world.held()} == {0, 1, 2, 3}
    other.close()
    world.close()
