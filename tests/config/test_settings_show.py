"""Rows to print, and that no secret gets out."""

import pytest

from weft.config import KEYS, Settings, load, rows, shown
from weft.config.text import hide_password
from weft.errors import SettingsError

URLS = {
    "sqlite:": "sqlite:",
    "postgresql://host/db": "postgresql://host/db",
    "postgresql://user@host:5432/db": "postgresql://user@host:5432/db",
    "postgresql://user:pass@host/db": "postgresql://user:***@host/db",
    "postgresql://user:pa@ss:w/ord@host/db": "postgresql://user:***@host/db",
    "postgresql://:pass@host": "postgresql://:***@host",
    "postgresql:///db?user=me&password=pass&sslmode=require": "postgresql:///db?user=me&password=***&sslmode=require",
    "postgresql:///db?SSLPassword=pass": "postgresql:///db?SSLPassword=***",
    "user:pass@host": "user:***@host",
    "postgres:user:pass@host": "postgres:***@host",
    "host=h password='pass' dbname=d": "host=h password=*** dbname=d",
    r"host=h password='pa\'ss word' dbname=d": "host=h password=*** dbname=d",
    r"host=h password=pa\ ss\'w dbname=d": "host=h password=*** dbname=d",
    "host=h password = 'pass": "host=h password = ***",
    "PASSWORD=pass&word host=h": "PASSWORD=*** host=h",
    "host=h;password=pass": "host=h;password=***",
    "postgresql://host/db?pass%77ord=pass&sslmode=require": "postgresql://host/db?pass%77ord=***&sslmode=require",
    "postgresql://host/db?%50%41%53%53WORD=p%61ss": "postgresql://host/db?%50%41%53%53WORD=***",
    "postgresql://host/db?passfile=/home/me/pass": "postgresql://host/db?passfile=***",
    "postgresql://host/db?user=me&password=pa&ss&port=1": "postgresql://host/db?user=me&password=***&***&port=1",
    "postgresql://host/db?sslpassword=pa ss": "postgresql://host/db?sslpassword=***",
    "postgresql://host:5432/db?password=pa@ss": "postgresql://host:5432/db?password=***",
    "postgresql://user:password=pass@host/db": "postgresql://user:***",
    "postgresql://user:pa?ss@host/db": "postgresql://user:***@host/db",
    "postgresql://user:pass": "postgresql://user:***",
    "postgresql://user:12pass/db": "postgresql://user:***/db",
    "postgresql://[::1]:5432,host:5433/db": "postgresql://[::1]:5432,host:5433/db",
    "POSTGRESQL://user:pass@host/db": "POSTGRESQL://user:***@host/db",
    "cassandra://user:pa@ss@host,host:9042/weft?tls=/ca.pem": "cassandra://user:***@host,host:9042/weft?tls=/ca.pem",
    "http://user:pass@proxy:3128": "http://user:***@proxy:3128",
}


def test_rows_come_in_the_order_of_declaration_with_value_and_origin():
    listed = list(rows(load(None, {"WEFT_INDEX_COUNT": "external"}, ["index.keep_days=3"])))
    assert [row.name for row in listed] == list(KEYS)
    assert [(row.value, row.origin) for row in listed if row.key.section == "index"] == [
        ("external", "WEFT_INDEX_COUNT"),
        (True, "default"),
        (3, "--set"),
        (0, "default"),
        (7, "default"),
        (64 << 20, "default"),
        (1000, "default"),
        (3600.0, "default"),
    ]


@pytest.mark.parametrize("url", URLS)
def test_the_password_of_a_url_is_hidden(url):
    assert shown(KEYS["mgmt.url"], url) == URLS[url]
    assert shown(KEYS["store.url"], url) == URLS[url]


def test_a_long_text_is_hidden_in_time_that_grows_with_its_length():
    for text in ("a" * 200_000, "a=" * 100_000, "a%61" * 50_000, "://" * 60_000, "password=" * 20_000):
        assert hide_password(text)


def test_a_token_is_hidden_and_its_absence_is_not():
    assert shown(KEYS["spider.token"], "s3cret") == "***"
    assert shown(KEYS["spider.token"], "") == ""


def test_other_values_are_shown_as_they_are():
    assert shown(KEYS["urlserver.allow_ports"], (80,)) == (80,)
    assert shown(KEYS["spider.contact"], "me@example.com") == "me@example.com"


def test_secrets_do_not_slip_out_through_repr():
    flags = ["spider.token=s3cret", "mgmt.url=postgresql://u:s3cret@h/d", "store.url=cassandra://u:s3cret@h/k"]
    loaded = load(None, {}, flags)
    assert loaded.settings.spider.token == "s3cret"
    assert "s3cret" not in repr(loaded)
    assert repr(Settings())


@pytest.mark.parametrize(
    "flag",
    [
        "spider.token=s3cret with a space",
        'spider.token="s3cret',
        'spider.token="s3cret"\nx=1',
        "spider.token s3cret",
        "mgmt.url=postgres://user:s3cret@host",
        'mgmt.url="postgresql://user:s3cret@host',
        "mgmt.url=host=h password=s3cret",
        r"mgmt.url=host=h password='x\'s3cret'",
        r"mgmt.url=host=h password=x\ s3cret",
        "mgmt.url=postgresql://u@h/d?pass%77ord=s3cret x",
        "mgmt.url=postgresql://u:x/s3cret@h/d",
        "store.url=cassandra://u:x@s3cret@h/KEYS",
        "store.url=cassandra://user:s3cret@host/not-a-keyspace",
    ],
)
def test_error_sentences_hide_secrets(flag):
    with pytest.raises(SettingsError) as refused:
        load(None, {}, [flag])
    assert "s3cret" not in str(refused.value)


def test_a_secret_of_the_wrong_type_is_not_repeated(tmp_path):
    (tmp_path / "weft.toml").write_text("[spider]\ntoken = 123456\n")
    with pytest.raises(SettingsError, match="found a value that is not text"):
        load(tmp_path, {}, [])
