"""Where a role may listen."""

from __future__ import annotations

import pytest

from weft.errors import UsageError
from weft.roles.listener import address_of, is_loopback, open_listener, require_reachable


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_without_a_token_nobody_else_may_reach_it(host):
    with pytest.raises(UsageError, match=rf"^spider\.listen: {host} can be reached by others; expected spider\.token"):
        open_listener("spider.listen", host, 0, "")


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("::1", "[::1]")])
def test_loopback_needs_no_token(host, shown):
    with open_listener("spider.listen", host, 0, "") as listener:
        assert address_of(listener) == f"{shown}:{listener.getsockname()[1]}"


def test_with_a_token_anybody_may_reach_it():
    with open_listener("spider.listen", "0.0.0.0", 0, "secret") as listener:
        assert address_of(listener).startswith("0.0.0.0:")


def test_a_port_in_use_is_named_with_its_setting():
    with open_listener("web.listen", "127.0.0.1", 0, "") as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError) as refused:
            open_listener("web.listen", "127.0.0.1", port, "")
    assert str(refused.value) == (
        f"web.listen: cannot listen on 127.0.0.1:{port}: Address already in use; expected a free port"
    )


def test_names_that_only_look_like_loopback_are_not():
    assert [is_loopback(name) for name in ("localhost.example.com", "127.0.0.1.example.com", "", "127.1.2.3")] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_that_others_cannot_dial_is_refused(host):
    with pytest.raises(UsageError) as refused:
        require_reachable("spider", (host, 7070), "")
    assert str(refused.value) == (
        f"spider.listen: other nodes cannot reach {host}; expected the host and port where they can in spider.address"
    )
    with pytest.raises(UsageError, match=r"^urlserver\.address: other nodes cannot reach"):
        require_reachable("urlserver", ("10.0.0.2", 7069), "[::]:7069" if ":" in host else f"{host}:7069")
    require_reachable("spider", (host, 7070), "spider.example:7070")


@pytest.mark.parametrize("host", ["10.0.0.2", "127.0.0.1", "spider.example", "::1"])
def test_an_address_that_others_can_dial_needs_no_other(host):
    require_reachable("spider", (host, 7070), "")
