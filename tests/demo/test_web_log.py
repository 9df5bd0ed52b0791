"""The log: what is written is read back, and a log that is none is told so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.state import Change
from weft.demo.web.log import FLUSH_BYTES, Line, LogError, LogWriter, RequestLine, WebLine, plan_of, read_log

PLAN = WebPlan(seed=3, port=8000)
text = st.text(max_size=30)
seconds = st.floats(0, 1e9)
requests = st.builds(
    RequestLine,
    connection=st.integers(0, 2**40),
    client=text,
    address=text,
    port=st.integers(0, 65535),
    host=text,
    method=text,
    target=text,
    status=st.integers(0, 599),
    sent=st.integers(0, 2**40),
    at=seconds,
    start=seconds,
    end=seconds,
    agent=text,
    kind=text,
    is_conditional=st.booleans(),
    has_cookie=st.booleans(),
    is_complete=st.booleans(),
    retry_after=st.none() | seconds,
)
lines = st.lists(requests | st.builds(Change, do=text, traits=st.dictionaries(text, text)), max_size=20)


def written(path: Path, *told: Line) -> Path:
    path.unlink(missing_ok=True)
    writer = LogWriter(path)
    for line in (WebLine(PLAN, 1.0, 2.0), *told):
        writer.add(line)
    writer.close()
    return path


@given(told=lines)
def test_what_is_written_is_read_back(told: list[Line], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = written(tmp_path_factory.getbasetemp() / "round-trip.log", *told)
    assert list(read_log(path)) == [WebLine(PLAN, 1.0, 2.0), *told]
    assert plan_of(path) == PLAN


def test_a_line_that_was_cut_off_at_the_end_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "web.log", Change(do="change"))
    whole = path.read_bytes()
    for cut in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:cut])
        assert len(list(read_log(path))) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it does not begin with the web that was served"),
        (b'{"type": "change", "do": "change"}\n', "it does not begin with the web that was served"),
        (b"nonsense\n", "line 1 is no line of a synthetic web's log"),
        (b'{"type": "nonsense"}\n', "line 1 is no line of a synthetic web's log"),
        (b'{"type": "web", "plan": {"hosts": 0}, "at": 1, "start": 1}\n', "line 1 is no line of a synthetic web's log"),
    ],
)
def test_what_is_no_log_is_one_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "web.log").write_bytes(content)
    with pytest.raises(LogError, match=said):
        plan_of(tmp_path / "web.log")


def test_a_log_that_is_missing_or_a_directory_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="No such file"):
        plan_of(tmp_path / "none.log")
    with pytest.raises(LogError, match="cannot be read"):
        plan_of(tmp_path)
    with pytest.raises(LogError, match="cannot be written"):
        LogWriter(tmp_path)


def test_a_log_with_something_in_it_is_not_written_over(tmp_path: Path) -> None:
    path = written(tmp_path / "web.log")
    before = path.read_bytes()
    with pytest.raises(LogError, match="there is something in it"):
        LogWriter(path)
    assert path.read_bytes() == before


def test_lines_wait_for_a_block_and_somebody_is_told(tmp_path: Path) -> None:
    told: list[int] = []
    writer = LogWriter(tmp_path / "web.log", lambda: told.append(1))
    change = Change(do="change")
    writer.add(change)
    writer.add(change)
    assert ((tmp_path / "web.log").stat().st_size, len(told)) == (0, 1)
    writer.flush()
    writer.add(change)
    assert len(told) == 2
    size = len(msgspec.json.encode(change)) + 1
    for _ in range(FLUSH_BYTES // size + 1):
        writer.add(change)
    assert (tmp_path / "web.log").stat().st_size > FLUSH_BYTES
    writer.close()
    assert len(list(read_log(tmp_path / "web.log"))) == writer.count


def test_a_full_disk_is_one_sentence() -> None:
    writer = LogWriter(Path("/dev/full"))
    writer.add(Change(do="change"))
    with pytest.raises(LogError, match="log /dev/full: it cannot be written: the disk is full"):
        writer.flush()
