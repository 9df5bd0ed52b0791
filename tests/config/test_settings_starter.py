"""The weft.toml of a new home gives the defaults, commented out or not."""

import re
import tomllib

from weft.config import KEYS, Settings, load, starter


def uncommented():
    return re.sub(r"^#(?=\S)", "", starter(), flags=re.MULTILINE)


def test_as_written_it_gives_the_defaults(tmp_path):
    (tmp_path / "weft.toml").write_text(starter(), encoding="utf-8")
    loaded = load(tmp_path, {}, [])
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}


def test_with_every_line_uncommented_it_gives_the_same_from_the_file(tmp_path):
    (tmp_path / "weft.toml").write_text(uncommented(), encoding="utf-8")
    loaded = load(tmp_path, {}, [])
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"weft.toml"}


def test_it_holds_every_key_with_its_meaning_and_what_is_expected():
    keys = [f"{section}.{key}" for section, table in tomllib.loads(uncommented()).items() for key in table]
    assert keys == list(KEYS)
    prose = " ".join(line.removeprefix("# ") for line in starter().splitlines())
    assert all(f"{key.facts.meaning} Expected: {key.expected}." in prose for key in KEYS.values())


def test_its_lines_are_short():
    assert max(map(len, starter().splitlines())) <= 102
