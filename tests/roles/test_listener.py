"""Where a role may listen."""

from __future__ import annotations

import pytest

from weft.errors import UsageError
from weft.roles.listener import address_of, is_loopback, open_listener


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
