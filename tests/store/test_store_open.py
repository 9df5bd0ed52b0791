"""The setting chooses the engine; one that there is not is refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.config.sections import StoreSettings
from weft.errors import UsageError
from weft.store import open as opening
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.tables import Table


def test_what_the_store_takes_the_reader_gives(tmp_path: Path) -> None:
    batch = Batch()
    batch.put(Table.QUERY, b"r", b"f", b"q", b"v")
    with opening.open_store(tmp_path / "store", StoreSettings()) as store:
        store.write(batch, 1)
    with opening.open_reader(tmp_path / "store", StoreSettings()) as reader:
        assert [cell.value for cell in reader.scan(Table.QUERY, b"r")] == [b"v"]


@pytest.mark.parametrize("open_one", [opening.open_reader, opening.open_store])
def test_an_engine_that_there_is_not_is_refused(tmp_path: Path, open_one: object) -> None:
    with pytest.raises(UsageError, match=r"names the engine cassandra, .* expected rocksdb:"):
        open_one(tmp_path / "store", StoreSettings(url="cassandra://127.0.0.1/weft"))  # type: ignore[operator]
    assert list(tmp_path.iterdir()) == []


def test_an_engine_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = MemoryStore()
    engine = opening.Engine(lambda path, settings: held, lambda path, settings: held)
    monkeypatch.setitem(opening.ENGINES, "memory", lambda: engine)
    assert opening.open_store(tmp_path, StoreSettings(url="memory:")) is held
