"""docs/search-servers.md says what index servers do."""

from __future__ import annotations

import json
import re
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

from support.search_servers import page
from support.search_world import SearchWorld
from support.shards_endpoint import endpoint
from weft.config import KEYS
from weft.search.served_shards import ServedShards
from weft.search.server_figures import ServerFigures

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "docs/search-servers.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"`POST (/shards/\w+)`(.*?)```json\n(.*?)\n```(.*?)```json\n(.*?)\n```", re.DOTALL)


def rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {name: rounded(one) for name, one in value.items()} if isinstance(value, dict) else value


def test_the_examples_are_answered_as_they_are_printed(tmp_path: Path) -> None:
    world = SearchWorld(tmp_path / "row")
    links = "http://example.com/fox"
    world.load(
        page("http://example.com/fox", "http://example.com/dog", title="The fox", text="a quick brown fox"),
        page("http://example.org/", links, title="Animals", text="foxes and dogs", language="en"),
    )
    world.indexer.finish()
    served = ServedShards(world.indexer.directory)
    served.serve([0])
    examples = EXAMPLE.findall(TEXT)
    assert len(examples) == 3
    with endpoint(served, 1) as port, closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        for path, _, question, _, answer in examples:
            connection.request("POST", path, question)
            assert rounded(json.loads(connection.getresponse().read())) == json.loads(answer)
    world.close()


def test_every_figure_is_explained() -> None:
    table = TEXT.partition("| figure |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(ServerFigures.__struct_fields__)


def test_every_setting_that_is_named_exists() -> None:
    named = re.findall(r"`\[(\w+)\] (\w+)`", TEXT)
    assert named
    assert [pair for pair in named if ".".join(pair) not in KEYS] == []


def test_every_failpoint_is_listed() -> None:
    """In CONTRIBUTING.md, for all of weft."""
    text = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("### Failpoints")[2].partition("\n### ")[0]
    source = "".join(file.read_text() for file in (PROJECT / "src/weft").rglob("*.py"))
    listed = set(re.findall(r"`([a-z]+(?:\.[a-z_]+)+)`", table.partition("| name |")[2]))
    assert listed == set(re.findall(r'failpoints\.point\("([\w.]+)"\)', source))
