"""The three sources, which one wins, and where each value is said to come from."""

import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest

from weft.config import KEYS, Settings, TextTable, as_variables, load, secrets_in


def write(home, text):
    (home / "weft.toml").write_text(text, encoding="utf-8")


def test_without_any_source_every_value_is_its_default(tmp_path):
    loaded = load(tmp_path, {}, [])
    assert loaded.settings == Settings()
    assert dict(loaded.origins) == dict.fromkeys(KEYS, "default")


def test_no_home_is_needed(tmp_path):
    assert load(None, {}, []) == load(tmp_path / "missing", {}, [])


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path):
    write(tmp_path, "[urlserver]\nqueue_len = 1\nqueue_count = 1\nmax_per_ip = 1\n")
    environ = {"WEFT_URLSERVER_QUEUE_LEN": "2", "WEFT_URLSERVER_QUEUE_COUNT": "2"}
    loaded = load(tmp_path, environ, ["urlserver.queue_len=3"])
    urlserver = loaded.settings.urlserver
    assert (urlserver.queue_len, urlserver.queue_count, urlserver.max_per_ip) == (3, 2, 1)
    assert loaded.origins["urlserver.queue_len"] == "--set"
    assert loaded.origins["urlserver.queue_count"] == "WEFT_URLSERVER_QUEUE_COUNT"
    assert loaded.origins["urlserver.max_per_ip"] == "weft.toml"
    assert loaded.origins["urlserver.leftover_len"] == "default"


def test_of_two_flags_for_one_key_the_later_one_wins():
    assert load(None, {}, ["index.keep_days=1", "index.keep_days=2"]).settings.index.keep_days == 2


def test_flags_given_as_variables_mean_the_same():
    flags = ["Spider.Token= a=b", "index.keep_days=3", "index.keep_days=4", 'spider.contact="me@example.com"']
    variables = as_variables(flags)
    assert variables == {
        "WEFT_SPIDER_TOKEN": " a=b",
        "WEFT_INDEX_KEEP_DAYS": "4",
        "WEFT_SPIDER_CONTACT": '"me@example.com"',
    }
    plain = flags[1:]
    assert load(None, as_variables(plain), []).settings == load(None, {}, plain).settings


def test_flags_that_hold_secrets_are_known():
    flags = ["spider.token=x", "mgmt.url=postgresql://u:p@h/d", "store.url=rocksdb:", "index.keep_days=3"]
    assert secrets_in(flags) == ["spider.token", "mgmt.url"]
    assert secrets_in(["spider.token=", "mgmt.url=postgresql://h/d"]) == []


def test_a_value_equal_to_the_default_still_has_its_origin():
    assert load(None, {}, ["urlserver.queue_len=100"]).origins["urlserver.queue_len"] == "--set"


def test_sections_and_keys_match_in_any_case_in_file_and_flag(tmp_path):
    write(tmp_path, '[UrlServer]\nSpider_Host = "spider.example"\nQueue_Len = 7\n')
    urlserver = load(tmp_path, {}, ["URLSERVER.Queue_Count=8"]).settings.urlserver
    assert (urlserver.spider_host, urlserver.queue_len, urlserver.queue_count) == ("spider.example", 7, 8)


def test_every_type_can_be_given_in_the_file(tmp_path):
    write(
        tmp_path,
        "index.history = false\nindex.keep_days = 30\n[urlserver]\nreq_host_per_sec = 2\n"
        'allow_ports = [80, 8080]\nallow_net = ["10.0.0.0/8", "::1"]\nstatic_hosts.intranet = "10.0.0.5"\n',
    )
    settings = load(tmp_path, {}, []).settings
    assert (settings.index.history, settings.index.keep_days) == (False, 30)
    assert settings.urlserver.allow_ports == (80, 8080)
    assert settings.urlserver.allow_net == ("10.0.0.0/8", "::1")
    assert settings.urlserver.static_hosts == {"intranet": "10.0.0.5"}
    assert type(settings.urlserver.req_host_per_sec) is float


def test_a_table_replaces_the_one_below_it_as_a_whole(tmp_path):
    write(tmp_path, '[urlserver.static_hosts]\na = "10.0.0.1"\nb = "10.0.0.2"\n')
    loaded = load(tmp_path, {"WEFT_URLSERVER_STATIC_HOSTS": '{ b = "10.0.0.3" }'}, [])
    assert loaded.settings.urlserver.static_hosts == {"b": "10.0.0.3"}


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path):
    (tmp_path / "weft.toml").write_bytes(b'\xef\xbb\xbf[index]\r\ncount = "external"\r\n')
    assert load(tmp_path, {}, []).settings.index.count == "external"


def test_settings_cannot_be_changed():
    settings: Any = load(None, {}, ["urlserver.static_hosts={ a = '10.0.0.1' }"]).settings
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.store = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.store.url = "cassandra://a/b"
    with pytest.raises(TypeError):
        settings.urlserver.static_hosts["b"] = "10.0.0.2"
    with pytest.raises((AttributeError, TypeError)):
        settings.store.uri = "misspelt"


def test_origins_cannot_be_changed():
    origins: Any = load(None, {}, []).origins
    with pytest.raises(TypeError):
        origins["store.url"] = "weft.toml"


def test_settings_can_be_handed_to_another_process():
    settings = load(None, {}, ["urlserver.static_hosts={ a = '10.0.0.1' }"]).settings
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert hash(settings) == hash(pickle.loads(pickle.dumps(settings)))


def test_tables_are_equal_in_any_order():
    one, other = TextTable({"a": "1", "b": "2"}), TextTable([("b", "2"), ("a", "1")])
    assert one == other
    assert hash(one) == hash(other)


def test_importing_reads_no_environment_and_loads_nothing_heavy():
    script = (
        "import sys, weft.config\n"
        "heavy = {'difflib', 'json', 'asyncio', 'click', 'rich', 'rocksdict', 'logging'}\n"
        "print(*heavy & sys.modules.keys())"
    )
    environ = {"WEFT_NONSENSE": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("\n", "")
