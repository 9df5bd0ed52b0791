"""Names that the machine or the settings know: no name server is asked, and what is private stays refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.name_server import A, a
from support.resolving import against, resolved
from weft.actions.local_seeds import LocalSeeds
from weft.addresses.local_names import HostsFile, LocalNames, names_in
from weft.addresses.resolver import Failure
from weft.config import TextTable
from weft.config.sections import UrlserverSettings

TEXT = """
# comment
127.0.0.1  localhost Local.Example. # both
::1        localhost
93.184.9.3 www.example
93.184.9.4 www.example
2a00::5    six.example
nonsense   bad.example
"""


def test_lines_of_a_hosts_file_are_read_and_ipv4_goes_first() -> None:
    names = names_in(TEXT)
    assert names["localhost"] == names["local.example"] == ("127.0.0.1",)
    assert names["www.example"] == ("93.184.9.3", "93.184.9.4")
    assert names["six.example"] == ("2a00::5",)
    assert "bad.example" not in names


def test_a_file_that_changes_is_read_again_and_one_that_is_gone_names_nothing(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    file = HostsFile(str(path))
    assert file.find("www.example") == ()
    path.write_text("93.184.9.3 www.example")
    assert file.find("www.example") == ("93.184.9.3",)
    path.write_text("93.184.9.44 www.example")
    assert file.find("www.example") == ("93.184.9.44",)
    path.unlink()
    assert file.find("www.example") == ()


def test_the_settings_go_before_the_file_and_localhost_is_this_machine_whatever_it_says(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("93.184.9.3 www.example")
    names = LocalNames(UrlserverSettings(hosts_file=str(path), static_hosts=TextTable({"www.example": "93.184.9.9"})))
    assert names.find("www.example") == (("93.184.9.9",), "urlserver.static_hosts names it")
    assert names.find("other.example") is None
    found = names.find("app.localhost")
    assert found is not None
    assert found.addresses == ("127.0.0.1",)


def test_a_name_of_the_hosts_file_is_not_looked_up(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("93.184.9.3 www.example")

    async def test(resolver, server, clock):
        assert (await resolver.resolve("www.example")).ip == "93.184.9.3"
        assert server.names == []

    against({}, test, hosts_file=str(path))


def test_a_public_name_that_the_hosts_file_leads_to_this_machine_is_refused_and_the_file_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "hosts"
    path.write_text("127.0.0.1 www.example.com")
    found = resolved({}, "www.example.com", hosts_file=str(path))
    assert (found.ip, found.failure) == ("", Failure.REFUSED)
    assert found.reason == f"127.0.0.1 is in 127.0.0.0/8 (loopback); {path} names it"
    allowed = resolved({}, "www.example.com", hosts_file=str(path), allow_net=("127.0.0.0/8",))
    assert allowed.ip == "127.0.0.1"


@pytest.mark.parametrize(
    ("address", "is_crawled"), [("127.0.0.1", True), ("10.1.2.3", True), ("169.254.169.254", False), ("0.0.0.0", False)]
)
def test_a_site_may_be_local_but_not_where_clouds_keep_their_secrets(address: str, is_crawled: bool) -> None:
    async def test(resolver, server, clock):
        assert (await resolver.resolve("in.example")).ip == ""
        assert ((await resolver.resolve("in.example", is_local=True)).ip == address) is is_crawled

    against({("in.example", A): a("in.example", address)}, test)


def test_a_user_is_asked_once_about_each_host_that_is_known_to_be_local(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("127.0.0.1 in.example")
    asked: list[tuple[str, str]] = []

    def permitted(web_host: str, where: str) -> bool:
        asked.append((web_host, where))
        return web_host == "in.example"

    settings = UrlserverSettings(hosts_file=str(path))
    seeds = LocalSeeds(settings, permitted)
    answers = [
        seeds.is_meant(host) for host in ("in.example", "in.example", "10.0.0.1:81", "out.example", "169.254.1.1")
    ]
    assert answers == [True, True, False, False, False]
    assert asked == [
        ("in.example", f"127.0.0.1 is in 127.0.0.0/8 (loopback); {path} names it"),
        ("10.0.0.1:81", "10.0.0.1 is in 10.0.0.0/8 (private)"),
    ]
    allowed = LocalSeeds(replace(settings, allow_net=("127.0.0.0/8",)), permitted)
    assert allowed.place_of("in.example") == "", "the settings allow it anyway"
