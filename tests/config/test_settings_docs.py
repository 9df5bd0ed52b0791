"""docs/settings.md names every key as the code has it, and its examples load."""

import re
from pathlib import Path

import pytest

from weft.config import KEYS, load, toml_text

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### \[(\w+)\]$")


def documented():
    """The rows of the key tables, by `section.key`."""
    found, section = {}, ""
    for line in PAGE.splitlines():
        if heading := SECTION.match(line):
            section = heading[1]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if section and line.startswith("| `"):
            found[f"{section}.{cells[0].strip('`')}"] = cells
    return found


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_is_documented_as_it_is(key):
    expected = [
        f"`{key.field}`",
        f"`{toml_text(key.default)}`",
        key.expected,
        key.facts.meaning,
        key.facts.reader,
        f"`{key.variable}`",
    ]
    assert documented().get(key.name) == expected, f"add to docs/settings.md: | {' | '.join(expected)} |"


def test_no_other_key_is_documented():
    assert list(documented()) == list(KEYS)


def example(first):
    """The indented block of the page that begins with the line `first`."""
    lines = PAGE[PAGE.index(f"    {first}") :].splitlines()
    ending = next(number for number, line in enumerate(lines) if line and not line.startswith("    "))
    return "\n".join(line.removeprefix("    ") for line in lines[:ending])


def test_the_example_file_loads(tmp_path):
    (tmp_path / "weft.toml").write_text(example("# weft-data/weft.toml"), encoding="utf-8")
    settings = load(tmp_path, {}, []).settings
    assert (settings.urlserver.queue_len, settings.urlserver.req_host_per_sec) == (200, 0.5)
    assert settings.spider.contact == "https://example.com/crawler"


def test_the_example_variables_and_flags_give_the_same_as_the_file(tmp_path):
    (tmp_path / "weft.toml").write_text(example("# weft-data/weft.toml"), encoding="utf-8")
    text = example("export WEFT_URLSERVER_QUEUE_LEN")
    environ = dict(re.findall(r"^export (\w+)='?(.*?)'?$", text, re.MULTILINE))
    flags = [quoted or bare for quoted, bare in re.findall(r"--set (?:'([^']*)'|(\S+))", text)]
    assert load(None, environ, flags).settings == load(tmp_path, {}, []).settings
