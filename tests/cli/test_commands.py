"""The commands as a user runs them: real processes, real output, real exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.weft_command import one_sentence, weft
from weft.cli.main import COMMANDS
from weft.store.api import Batch
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table, ranked


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert weft("init", cwd=tmp_path).returncode == 0
    return tmp_path / "weft-data"


def test_help_lists_every_command(tmp_path: Path) -> None:
    run = weft("--help", cwd=tmp_path)
    assert run.returncode == 0
    assert all(f"\n  {name} " in run.stdout for name in COMMANDS)
    assert weft(cwd=tmp_path).stdout == run.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(tmp_path: Path, name: str) -> None:
    run = weft(name, "--help", cwd=tmp_path)
    assert run.returncode == 0
    assert "--home DIR" in run.stdout


def test_help_imports_no_engine(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['weft', '--help']\ntry:\n import weft.__main__\nexcept SystemExit: pass\n"
    code += "print([m for m in ('rocksdict', 'rich', 'ada_url', 'numpy', 'weft.config') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_version(tmp_path: Path) -> None:
    run = weft("--version", cwd=tmp_path)
    assert run.stdout.startswith("weft 0.")


def test_init_makes_a_home_once(tmp_path: Path) -> None:
    first, second = weft("init", cwd=tmp_path), weft("init", "--json", cwd=tmp_path)
    assert "Created weft-data" in first.stdout
    assert json.loads(second.stdout) == {"home": "weft-data", "new": False, "seq": 0}
    assert (tmp_path / "weft-data" / "weft.toml").is_file()


def test_the_home_is_chosen_by_flag_then_environment_then_default(tmp_path: Path) -> None:
    assert weft("init", cwd=tmp_path, WEFT_HOME=str(tmp_path / "by-environment")).returncode == 0
    assert weft("--home", "before", "init", cwd=tmp_path, WEFT_HOME="unused").returncode == 0
    assert weft("init", "--home", "behind", cwd=tmp_path).returncode == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["before", "behind", "by-environment"]
    assert weft("scan", "query", cwd=tmp_path, WEFT_HOME="by-environment").returncode == 0


def test_a_home_is_the_same_whatever_the_locale(tmp_path: Path) -> None:
    without_unicode = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert weft("init", "--home", "here", cwd=tmp_path).returncode == 0
    done = weft("init", "--home", "there", cwd=tmp_path, **without_unicode)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "here" / "weft.toml").read_bytes() == (tmp_path / "there" / "weft.toml").read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="a name of a file is any bytes on Linux alone")
@pytest.mark.parametrize("arguments", [["init"], ["add", "https://a.com/"], ["status"], ["import", "-"]])
def test_a_home_whose_name_is_no_text_is_refused_and_not_made(tmp_path: Path, arguments: list[str]) -> None:
    done = weft("--home", "a\udcff", *arguments, cwd=tmp_path, stdin="")
    assert done.returncode == 2
    assert one_sentence(done).endswith(
        "a\\udcff: this name is not UTF-8 text here; choose another directory, or a UTF-8 locale\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_init_leaves_a_directory_of_other_things_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    run = weft("init", "--home", ".", cwd=tmp_path)
    assert run.returncode == 2
    assert "holds other files" in one_sentence(run)
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


def test_a_home_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in ("file", "file/below"):
        run = weft("init", "--home", home, cwd=tmp_path)
        assert run.returncode == 2
        assert home in one_sentence(run)


def test_a_missing_home_is_one_sentence(tmp_path: Path) -> None:
    run = weft("scan", "query", cwd=tmp_path)
    assert run.returncode == 2
    assert "`weft init`" in one_sentence(run)
    assert list(tmp_path.iterdir()) == []


def test_url_tells_identity(tmp_path: Path) -> None:
    run = weft("url", "https://www.Example.com:443/a/../b?utm_source=x&q=1#f", cwd=tmp_path)
    assert run.stdout == (
        "uri      com.example.www/b?q=1\ndomain   example.com\nurl      https://www.example.com/b?q=1\n"
    )
    assert run.returncode == 0


def test_url_tells_why_one_is_refused_and_still_answers_the_others(tmp_path: Path) -> None:
    run = weft("url", "--json", "example.com", "ftp://example.com/", "http://[", cwd=tmp_path)
    answer = json.loads(run.stdout)
    assert run.returncode == 1
    assert answer["items"][0] == {
        "given": "example.com",
        "uri": "com.example",
        "domain": "example.com",
        "url": "https://example.com/",
    }
    assert [item.get("reason") for item in answer["items"]] == [None, "scheme", "unparsable"]


def test_url_strips_what_the_settings_say(tmp_path: Path) -> None:
    run = weft("url", "a.com/?x=1&utm_id=2", "--set", 'url.strip=["x"]', cwd=tmp_path)
    assert "com.a/?utm_id=2" in run.stdout


def test_config_tells_where_each_value_came_from(home: Path) -> None:
    (home / "weft.toml").write_text("[Store]\nCache_Bytes = 4194304\n[index]\nkeep_days = 30\n")
    run = weft(*("config", "--json", "--set", "index.keep_days=7"), cwd=home.parent, WEFT_STORE_BACKGROUND_JOBS="3")
    found = {item["key"]: (item["value"], item["origin"]) for item in json.loads(run.stdout)["items"]}
    assert found["store.cache_bytes"] == (4194304, "weft.toml")
    assert found["store.background_jobs"] == (3, "WEFT_STORE_BACKGROUND_JOBS")
    assert found["index.keep_days"] == (7, "--set")
    assert found["store.wal_bytes"][1] == "default"
    lines = weft("config", cwd=home.parent).stdout.splitlines()
    assert lines[0].split() == ["key", "from", "value"]
    assert ["index.keep_days", "weft.toml", "30"] in [line.split() for line in lines]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[store]\ncash_bytes = 1", "cache_bytes"),
        ("[store]\ncache_bytes = 'much'", "store.cache_bytes"),
        ("[index]\nkeep_days = 0", "index.keep_days"),
        ("[nonsense]\nx = 1", "nonsense"),
        ("[store\n", "line 1"),
    ],
)
def test_a_bad_setting_is_one_sentence_with_file_and_key(home: Path, text: str, said: str) -> None:
    (home / "weft.toml").write_text(text)
    run = weft("config", cwd=home.parent)
    assert run.returncode == 2
    assert "weft-data/weft.toml" in one_sentence(run)
    assert said in run.stderr


def filled(home: Path) -> None:
    batch = Batch()
    batch.put(Table.QUERY, b"d:com.c", b"domain", b"pagecount", b"2")
    batch.put(Table.QUERY, b"d:com.c", b"rank", ranked(3, b"com.c"), b"3")
    batch.put(Table.QUERY, b"d:com.c", b"rank", ranked(1, b"com.c/page1"), b"1")
    batch.put(Table.QUERY, b"t:" + ranked(3, b"com.c"), b"", b"", b"3")
    batch.put(Table.DOCS, b"x:\x00\xff", b"f", b"", "caf\u00e9 \\ \u0007".encode())
    with RocksStore(home / "store") as store:
        store.write(batch, 300)


def test_scan_prints_cells_as_the_documents_do(home: Path) -> None:
    filled(home)
    assert weft("scan", "query", cwd=home.parent).stdout.splitlines() == [
        "row        cf      cq             seq  value",
        "--------------------------------------------",
        "d:com.c    domain  pagecount      300  2",
        "           rank    3:com.c        300  3",
        "                   1:com.c/page1  300  1",
        "t:3:com.c                         300  3",
    ]


def test_scan_takes_a_row_prefix_as_it_is_printed(home: Path) -> None:
    filled(home)
    for prefix, count in (("t:3:com", 1), ("t:", 1), ("d:", 3), ("d:x", 0)):
        answer = json.loads(weft("scan", "query", "--row", prefix, "--json", cwd=home.parent).stdout)
        assert (answer["count"], answer["seq"], answer["more"]) == (count, 300, False)


def test_scan_stops_at_the_limit_and_says_so(home: Path) -> None:
    filled(home)
    run = weft("scan", "query", "--limit", "2", cwd=home.parent)
    assert len(run.stdout.splitlines()) == 4
    assert "--limit 0" in run.stderr
    assert json.loads(weft("scan", "query", "--limit", "2", "--json", cwd=home.parent).stdout)["more"]
    assert len(weft("scan", "query", "--limit", "0", cwd=home.parent).stdout.splitlines()) == 6


def test_scan_shows_bytes_readably(home: Path) -> None:
    filled(home)
    item = json.loads(weft("scan", "docs", "--json", cwd=home.parent).stdout)["items"][0]
    assert item["row"] == r"x:\x00\xff"
    assert item["value"] == r"café \\ \x07"
    assert json.loads(weft("scan", "docs", "--row", r"x:\x00\xff", "--json", cwd=home.parent).stdout)["count"] == 1


def test_scan_works_beside_a_running_writer(home: Path) -> None:
    with RocksStore(home / "store") as store:
        batch = Batch()
        batch.put(Table.QUERY, b"t:", b"", b"", b"v")
        store.write(batch, 1)
        assert json.loads(weft("scan", "query", "--json", cwd=home.parent).stdout)["seq"] == 1
        run = weft("init", cwd=home.parent)
        assert run.returncode == 2
        assert f"pid {os.getpid()}" in one_sentence(run)


def test_a_closed_pipe_is_no_error(home: Path) -> None:
    filled(home)
    command = f"{sys.executable} -m weft scan query --limit 0 | true; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], cwd=home.parent, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["crawl", "--again", "nan"], "nan"),
        (["crawl", "--again", "inf"], "inf"),
        (["run", "index", "--again", "1e300"], "1e+300"),
        (["crawl", "--seconds", "nan"], "nan"),
        (["import", "x", "--rate", "nan"], "nan"),
        (["stop", "--wait", "nan"], "nan"),
    ],
)
def test_a_number_that_measures_nothing_is_refused(tmp_path: Path, arguments: list[str], found: str) -> None:
    run = weft(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert f"Invalid value for '{arguments[-2]}': {found} is not in the range" in one_sentence(run)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["nonsense"], ["scan"], ["scan", "nonsense"], ["url"], ["init", "--nonsense"]])
def test_bad_usage_is_one_sentence_that_points_to_help(tmp_path: Path, arguments: list[str]) -> None:
    run = weft(*arguments, cwd=tmp_path)
    assert run.returncode == 2
    assert "--help" in one_sentence(run)


def test_a_long_run_that_there_is_not_is_refused(tmp_path: Path) -> None:
    assert "has no long run" in one_sentence(weft("bench", "html", "--long", cwd=tmp_path))
    assert weft("bench", "mgmt", "--long", "--quick", cwd=tmp_path).returncode == 2


def test_bench_names_what_there_is(tmp_path: Path) -> None:
    run = weft("bench", "nonsense", cwd=tmp_path)
    assert run.returncode == 2
    assert "store" in one_sentence(run)


def test_a_bad_failpoint_is_one_sentence(tmp_path: Path) -> None:
    run = weft("url", "a.com", cwd=tmp_path, WEFT_FAIL="store.write:x:kill")
    assert run.returncode == 2
    assert "expected name:n:kill" in one_sentence(run)


def test_a_failpoint_stops_a_command(home: Path) -> None:
    run = weft("demo", cwd=home.parent, WEFT_FAIL="store.write.before:1:kill")
    assert run.returncode == -9
    run = weft("demo", cwd=home.parent, WEFT_FAIL="store.write.before:1:enospc")
    assert run.returncode == 2
    assert "disk is full" in one_sentence(run)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(tmp_path: Path, shell: str) -> None:
    run = weft("completion", shell, cwd=tmp_path)
    assert run.returncode == 0
    assert "_WEFT_COMPLETE" in run.stdout


def test_tab_completes_commands_tables_and_settings(tmp_path: Path) -> None:
    for words, expected in (("weft s", "scan"), ("weft scan q", "query"), ("weft config --set store.u", "store.url=")):
        run = weft(
            cwd=tmp_path, _WEFT_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
        )
        assert expected in run.stdout
