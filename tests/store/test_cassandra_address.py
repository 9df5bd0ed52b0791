"""`[store] url` of a cluster: what it says, and what is wrong with it."""

from __future__ import annotations

import pytest

from weft.errors import UsageError
from weft.store.cassandra.address import PORT, parse_address


@pytest.mark.parametrize(
    ("url", "hosts", "port"),
    [
        ("cassandra://a/weft", ("a",), PORT),
        ("cassandra://a,b,c/weft", ("a", "b", "c"), PORT),
        ("cassandra://a,b:9043/weft", ("a", "b"), 9043),
        ("cassandra://me:secret@10.0.0.1,10.0.0.2/weft", ("10.0.0.1", "10.0.0.2"), PORT),
        ("cassandra://[::1],[fd00::2]:9043/weft", ("::1", "fd00::2"), 9043),
        ("cassandra://[::1]/weft", ("::1",), PORT),
    ],
)
def test_what_messages_name_is_read_as_the_same_cluster(url: str, hosts: tuple[str, ...], port: int) -> None:
    address = parse_address(url)
    assert (address.hosts, address.port, address.keyspace) == (hosts, port, "weft")
    named = parse_address(str(address))
    assert (named.hosts, named.port, named.keyspace) == (hosts, port, "weft")
    assert "secret" not in str(address)


def test_a_password_may_hold_anything_that_is_percent_encoded() -> None:
    address = parse_address("cassandra://m%40e:p%2F%40%3A%25@a/weft")
    assert (address.user, address.password, address.hosts) == ("m@e", "p/@:%", ("a",))


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("cassandra:///weft", "it names no host"),
        ("cassandra://a,,b/weft", "it names no host"),
        ("cassandra://a:0/weft", "0 is no port"),
        ("cassandra://a:70000/weft", "70000 is no port"),
        ("cassandra://a", "the keyspace must be a name"),
        ("cassandra://a/My-Index", "the keyspace must be a name"),
        ("cassandra://a/wéft", "the keyspace must be a name"),
        (f"cassandra://a/{'k' * 49}", "the keyspace must be a name"),
        ("cassandra://a/weft?ssl=1", "ssl is no option"),
    ],
)
def test_one_sentence_says_what_is_wrong_without_the_password(url: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as refused:
        parse_address(url.replace("://", "://me:secret@"))
    assert "secret" not in str(refused.value)
