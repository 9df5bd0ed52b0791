"""Every way in which a source can be wrong, and the sentence that says so."""

import pytest

from weft.config import load
from weft.errors import HomeError, SettingsError

LINKS = "an integer from 1 to 1000000 links"
SECTIONS = "store, mgmt, index, url, urlserver, spider, archive, tls, dispatcher, indexserver, limits, web"
STORE_KEYS = "url, cache_bytes, write_buffer_bytes, wal_bytes, max_value_bytes, background_jobs"
WEB_KEYS = "serve, listen, hosts, origins, public, rate, streams, session_hours"
HOSTS = 'a table of lower-case host names and IP addresses such as { "intranet.example" = "10.0.0.5" }'

FILES = {
    "[storr]": "storr: unknown section; did you mean [store]?",
    "[zzz]": f"zzz: unknown section; the sections are {SECTIONS}",
    "store = 5": "store: expected a section [store] with keys, found a single value",
    "[[store]]": "store: expected a section [store] with keys, found a single value",
    "[Store]\n[store]": "store: given twice, as Store and as store; case does not matter",
    '[store]\nURL = "rocksdb:"\nurl = "rocksdb:"': "store.url: given twice, as URL and as url; case does not matter",
    "[store]\nurk = 1": "store.urk: unknown setting; did you mean store.url?",
    "[store]\nzzz = 1": f"store.zzz: unknown setting; [store] has {STORE_KEYS}",
    "[spider]\nqueue_len = 1": "spider.queue_len: unknown setting; did you mean urlserver.queue_len?",
    '[web]\n"\\u001b[1m" = 1': f'web."\\u001b[1m": unknown setting; [web] has {WEB_KEYS}',
    "[urlserver]\nqueue_len = 0": f"urlserver.queue_len: expected {LINKS}, found 0",
    "[urlserver]\nqueue_len = true": f"urlserver.queue_len: expected {LINKS}, found true",
    "[urlserver]\nqueue_len = 1.0": f"urlserver.queue_len: expected {LINKS}, found 1.0",
    "[urlserver]\nqueue_len = [1]": f"urlserver.queue_len: expected {LINKS}, found a list",
    "[urlserver]\nqueue_len.a = 1": f"urlserver.queue_len: expected {LINKS}, found a table",
    "[urlserver]\nqueue_len = 2026-01-31": f"urlserver.queue_len: expected {LINKS}, found the date or time 2026-01-31",
    "[index]\nhistory = 1": "index.history: expected true or false, found 1",
    '[index]\ncount = "none"': 'index.count: expected one of "all", "external", found "none"',
    "[mgmt]\nchunk_linger = nan": "mgmt.chunk_linger: expected a number from 0 to 3600 seconds, found nan",
    "[mgmt]\nchunk_linger = true": "mgmt.chunk_linger: expected a number from 0 to 3600 seconds, found true",
    "[limits]\nrobots_bytes = 1000": (
        "limits.robots_bytes: expected an integer from 500 KiB to 64 MiB, in bytes, found 1000"
    ),
    "[urlserver]\nallow_ports = [80, 0]": (
        "urlserver.allow_ports: expected a list of integers from 1 to 65535, found 0"
    ),
    "[urlserver]\nallow_ports = 80": "urlserver.allow_ports: expected a list of integers from 1 to 65535, found 80",
    "[urlserver]\nallow_ports = [true]": (
        "urlserver.allow_ports: expected a list of integers from 1 to 65535, found true"
    ),
    '[urlserver]\nallow_net = ["10.0.0.1/8"]': (
        'urlserver.allow_net: expected a list of networks such as ["10.0.0.0/8"], found "10.0.0.1/8"'
    ),
    '[urlserver.static_hosts]\nWiki = "10.0.0.5"': (
        f'urlserver.static_hosts: expected {HOSTS}, found "Wiki" = "10.0.0.5"'
    ),
    "[urlserver.static_hosts]\nwiki = 5": f'urlserver.static_hosts: expected {HOSTS}, found "wiki" = 5',
    "[index]\nkeep_days = 0x" + "f" * 5000: (
        "index.keep_days: expected an integer from 1 to 36500 days, found an integer of more than 128 bits"
    ),
    "[index]\nkeep_days = " + "9" * 5000: "file: not valid TOML: a number is too long or brackets too deep",
    "[index]\nkeep_days = " + "[" * 5000: "file: not valid TOML: a number is too long or brackets too deep",
    "\n[store\n": "line 2: not valid TOML at column 7: Expected ']' at the end of a table declaration",
    "[store]\nurl =": "line 2: not valid TOML: Invalid value",
    "[spider]\nworking_every = 40": (
        "urlserver.timeout_spider_status: expected at least 2 x 40.0 = 80.0 seconds because of"
        " spider.working_every (HOME/weft.toml), found 60.0 (default)"
    ),
    '[tls]\nca = "ca.pem"\ncertificate = "a.pem"': (
        'tls.key: expected a file because of tls.certificate (HOME/weft.toml), found "" (default)'
    ),
    '[tls]\nca = "ca.pem"\nkey = "a.key"': (
        'tls.certificate: expected a file because of tls.key (HOME/weft.toml), found "" (default)'
    ),
    '[tls]\ncertificate = "a.pem"\nkey = "a.key"': (
        'tls.ca: expected a file because of tls.certificate (HOME/weft.toml), found "" (default)'
    ),
    "[mgmt]\nlease = 10": (
        "mgmt.lease: expected more than 10.0 seconds because of mgmt.heartbeat (default), found 10.0 (HOME/weft.toml)"
    ),
}


@pytest.mark.parametrize("text", FILES, ids=lambda text: text[:30])
def test_a_wrong_file_is_refused_with_a_sentence(tmp_path, text):
    (tmp_path / "weft.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, {}, [])
    assert str(refused.value).replace(str(tmp_path), "HOME") == f"HOME/weft.toml: {FILES[text]}"
    assert refused.value.exit_code == 2


VARIABLES = {
    ("WEFT_STORE_URI", "x"): "store.uri: unknown setting; did you mean WEFT_STORE_URL for store.url?",
    ("WEFT_STOR_URL", "x"): "stor.url: unknown section; did you mean WEFT_STORE_URL for store.url?",
    ("WEFT_Store_Url", "x"): "store.url: unknown setting; did you mean WEFT_STORE_URL for store.url?",
    ("WEFT_QUEUE_LEN", "5"): (
        "queue.len: unknown section; did you mean WEFT_URLSERVER_QUEUE_LEN for urlserver.queue_len?"
    ),
    ("WEFT_STORE_ZZZ", "x"): f"store.zzz: unknown setting; [store] has {STORE_KEYS}",
    ("WEFT_VERBOSE", "1"): f"verbose: unknown section; the sections are {SECTIONS}",
    ("WEFT_HOMES", "x"): f"homes: unknown section; the sections are {SECTIONS}",
    ("WEFT_", "x"): f'"": unknown section; the sections are {SECTIONS}',
    (
        "WEFT_URLSERVER_QUEUE_LEN",
        "many",
    ): f'urlserver.queue_len: expected {LINKS}, found "many", which is not a TOML value',
    ("WEFT_URLSERVER_QUEUE_LEN", ""): f'urlserver.queue_len: expected {LINKS}, found "", which is not a TOML value',
    ("WEFT_URLSERVER_QUEUE_LEN", "'5'"): f'urlserver.queue_len: expected {LINKS}, found "5"',
    ("WEFT_URLSERVER_QUEUE_LEN", "5\nother = 6"): (
        f'urlserver.queue_len: expected {LINKS}, found "5\\u000aother = 6", which holds more than one TOML value'
    ),
    ("WEFT_INDEX_COUNT", '"all"\n[store]'): (
        'index.count: expected one of "all", "external",'
        ' found "\\"all\\"\\u000a[store]", which holds more than one TOML value'
    ),
    ("WEFT_URLSERVER_ALLOW_PORTS", "[" * 5000): (
        "urlserver.allow_ports: expected a list of integers from 1 to 65535,"
        f' found "{"[" * 59}…, which is nested too deeply'
    ),
    ("WEFT_INDEX_COUNT", "\udcff"): ('index.count: expected one of "all", "external", found text that is not UTF-8'),
    ("WEFT_SPIDER_WORKING_EVERY", "31"): (
        "urlserver.timeout_spider_status: expected at least 2 x 31.0 = 62.0 seconds because of"
        " spider.working_every (WEFT_SPIDER_WORKING_EVERY), found 60.0 (default)"
    ),
}


@pytest.mark.parametrize(("variable", "text"), VARIABLES, ids=lambda part: ascii(part[:30]))
def test_a_wrong_variable_is_refused_with_a_sentence(variable, text):
    with pytest.raises(SettingsError) as refused:
        load(None, {variable: text}, [])
    assert str(refused.value) == f"{variable}: {VARIABLES[variable, text]}"


FLAGS = {
    "urlserver.queue_len": "urlserver.queue_len: expected section.key=value",
    "": "flag: expected section.key=value",
    "queue_len=5": "queue_len: unknown section; did you mean urlserver.queue_len?",
    "store=5": f"store: unknown setting; [store] has {STORE_KEYS}",
    "urlserver.queue_lenn=5": "urlserver.queue_lenn: unknown setting; did you mean urlserver.queue_len?",
    "urlserver.queue_len=0": f"urlserver.queue_len: expected {LINKS}, found 0",
    "mgmt.heartbeat=45": (
        "mgmt.lease: expected more than 45.0 seconds because of mgmt.heartbeat (--set), found 45.0 (default)"
    ),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_a_wrong_flag_is_refused_with_a_sentence(flag):
    with pytest.raises(SettingsError) as refused:
        load(None, {}, [flag])
    assert str(refused.value) == f"--set: {FLAGS[flag]}"


def test_an_overridden_value_is_checked_all_the_same(tmp_path):
    (tmp_path / "weft.toml").write_text("[urlserver]\nqueue_len = 0\n")
    with pytest.raises(SettingsError, match="queue_len"):
        load(tmp_path, {}, ["urlserver.queue_len=5"])


def test_keys_that_disagree_are_fine_once_overridden(tmp_path):
    (tmp_path / "weft.toml").write_text("[spider]\nworking_every = 40\n")
    assert load(tmp_path, {}, ["urlserver.timeout_spider_status=80"]).settings.spider.working_every == 40


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path):
    (tmp_path / "weft.toml").write_bytes(b'[index]\n\ncount = "\xe9"\n')
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, {}, [])
    assert str(refused.value) == f"{tmp_path}/weft.toml: line 3: not UTF-8"


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path):
    (tmp_path / "weft.toml").mkdir()
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, {}, [])
    assert str(refused.value) == f"{tmp_path}/weft.toml: file: cannot be read: Is a directory"


def test_a_home_that_is_a_file_is_refused(tmp_path):
    home = tmp_path / "home"
    home.write_text("")
    with pytest.raises(HomeError, match="the home must be a directory, but this is a file"):
        load(home, {}, [])


def test_variables_that_are_no_settings_are_left_alone():
    others = ("WEFT_HOME", "WEFT_FAIL", "WEFT_SUITES", "_WEFT_STORE_URL", "_WEFT_ANYTHING", "PATH", "weft_store_url")
    assert load(None, dict.fromkeys(others, "x"), []) == load(None, {}, [])
