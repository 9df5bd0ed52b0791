"""What people change through commands and the web app: the same functions, refusals in sentences."""

from __future__ import annotations

import msgspec
import pytest

from weft.actions.add_urls import add_urls
from weft.actions.chunks import Retried, retry_chunks
from weft.actions.fetch_now import WantedPage, fetch_now
from weft.actions.parameters import drop_parameters, keep_parameters, learn_parameters
from weft.actions.run_control import pause, resume
from weft.actions.sites import exclude, include
from weft.clock import ManualClock
from weft.config.settings import DEFAULTS, settings_with
from weft.errors import NotKnown, UsageError, WeftError
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeState, NodeType
from weft.model.site import Site, SiteSettings
from weft.model.url import UrlRefused

NO_HOSTS_FILE = settings_with({"urlserver.hosts_file": ""})


@pytest.fixture
def mgmt() -> MemoryMgmt:
    return MemoryMgmt(ManualClock(1_000_000))


# Adding URLs.


def test_urls_are_added_with_the_settings_of_their_sites(mgmt: MemoryMgmt) -> None:
    added = add_urls(mgmt, DEFAULTS, ["a.com", "https://b.com/x", "ftp://c.com/"], "hosts", {"depth": 2})
    assert (added.new, added.known, added.refused) == (2, 0, 1)
    assert added.sites == ["a.com", "b.com"]
    (refused,) = added.refusals
    assert (refused.number, refused.is_local) == (3, False)
    assert "its scheme is ftp" in refused.why
    assert [site.settings for site in mgmt.sites()] == [SiteSettings(depth=2)] * 2
    assert add_urls(mgmt, DEFAULTS, ["a.com"]).known == 1
    msgspec.json.encode(added)


def test_settings_stand_before_any_url_may_be_fetched(mgmt: MemoryMgmt, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = []

    def want(seeds: object) -> int:
        wanted.append(mgmt.sites())
        return 0

    monkeypatch.setattr(mgmt, "want", want)
    add_urls(mgmt, DEFAULTS, ["https://a.com/docs/"], "hosts", {"rate": 0.5})
    add_urls(mgmt, DEFAULTS, ["https://a.com/docs/"], "path")
    assert [site.settings for (site,) in wanted] == [
        SiteSettings(rate=0.5),
        SiteSettings(rate=0.5, include=("^https?://a\\.com/docs/",)),
    ]


def test_a_scope_that_is_named_lifts_the_bounds_of_paths(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["https://a.com/docs/"], "path")
    add_urls(mgmt, DEFAULTS, ["https://a.com/docs/"])
    assert [site.settings.include for site in mgmt.sites()] == [("^https?://a\\.com/docs/",)]
    add_urls(mgmt, DEFAULTS, ["https://a.com/docs/"], "domains")
    assert [(site.name, site.scope, site.settings.include) for site in mgmt.sites()] == [("a.com", "domains", None)]


def test_a_local_url_is_told_apart_and_added_once_that_is_meant(mgmt: MemoryMgmt) -> None:
    (refused,) = add_urls(mgmt, NO_HOSTS_FILE, ["http://localhost:8010/"]).refusals
    assert refused.is_local
    assert mgmt.sites() == []
    assert add_urls(mgmt, NO_HOSTS_FILE, ["http://localhost:8010/"], is_local=True).new == 1


def test_a_refusal_repeats_no_password_and_the_first_twenty_are_told(mgmt: MemoryMgmt) -> None:
    told: list[WeftError] = []
    added = add_urls(mgmt, DEFAULTS, ["ftp://me:canary@a.com/"] * 25, tell=told.append)
    assert (added.refused, len(added.refusals), len(told)) == (25, 20, 20)
    assert "canary" not in repr(added) + repr(told)


@pytest.mark.parametrize(
    ("scope", "settings", "sentence"),
    [
        ("galaxy", {}, "scope 'galaxy': expected one of path, hosts, domains, any"),
        ("path", {"include": ["x"]}, "scope path sets the patterns to include"),
        ("any", {"headers": {"Cookie": "canary"}}, "headers would be sent to every site"),
        ("any", {"auth": "me:canary"}, "headers would be sent to every site"),
        (None, {"depht": 1}, "depht is no setting of a site"),
        (None, {"depth": "x"}, "depth: expected an integer"),
        (None, {"exclude": ["("]}, "is no pattern"),
    ],
)
def test_what_makes_no_sense_changes_nothing(
    mgmt: MemoryMgmt, scope: str | None, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence) as refused:
        add_urls(mgmt, DEFAULTS, ["a.com"], scope, settings)
    assert "canary" not in str(refused.value)
    assert (mgmt.sites(), mgmt.wishes()) == ([], [])


# Sites and patterns.


def test_a_site_is_excluded_and_included_again(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["a.com"])
    assert exclude(mgmt, "a.com").is_excluded
    assert mgmt.sites()[0].is_excluded
    assert not include(mgmt, "a.com").is_excluded


def test_patterns_are_excluded_one_by_one_and_included_again(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["a.com"])
    for pattern in ("/x", "/y", "/x"):
        exclude(mgmt, "a.com", pattern)
    assert mgmt.sites()[0].settings.exclude == ("/x", "/y")
    assert not mgmt.sites()[0].is_excluded
    assert include(mgmt, "a.com", "/x").settings.exclude == ("/y",)
    assert include(mgmt, "a.com", "/y").settings == SiteSettings()
    with pytest.raises(NotKnown, match=r"a\.com does not exclude '/y'"):
        include(mgmt, "a.com", "/y")


def test_a_host_of_a_site_can_be_excluded_alone(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["a.com"], "domains")
    with pytest.raises(NotKnown, match=r"ads\.a\.com is not a site"):
        exclude(mgmt, "ads.a.com")
    assert exclude(mgmt, "ads.a.com", is_new=True) == Site(name="ads.a.com", is_excluded=True)


@pytest.mark.parametrize("name", ["", "A.com", "https://a.com", "a.com/x", "a b", "a.com:443", "\x1b[1m", "u@a.com"])
def test_a_name_that_no_host_has_is_refused(mgmt: MemoryMgmt, name: str) -> None:
    with pytest.raises(UsageError, match="is no name of a site; expected a host or domain"):
        exclude(mgmt, name, is_new=True)
    assert mgmt.sites() == []


def test_a_site_has_a_bounded_number_of_patterns(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["a.com"], None, {"exclude": [f"/{n}" for n in range(100)]})
    with pytest.raises(UsageError, match=r"a\.com has 100 patterns already"):
        exclude(mgmt, "a.com", "/more")
    include(mgmt, "a.com", "/0")
    with pytest.raises(UsageError, match="is no pattern"):
        exclude(mgmt, "a.com", "(")


# One page.


def test_a_page_is_fetched_now_without_becoming_a_seed(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["https://a.com/"], "domains")
    before = mgmt.sites()
    wanted = fetch_now(mgmt, DEFAULTS, "https://www.a.com/x?utm_source=y")
    assert wanted == WantedPage("https://www.a.com/x", "com.a.www/x", "a.com", is_new=True)
    assert not fetch_now(mgmt, DEFAULTS, "www.a.com/x").is_new
    assert mgmt.sites() == before
    assert [wish.uri for wish in mgmt.wishes()] == ["com.a", "com.a.www/x"]


def test_a_page_that_would_not_be_crawled_is_refused(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["https://a.com/"], "domains", {"exclude": ["/private/"]})
    with pytest.raises(NotKnown, match=r"https://b\.com/ belongs to no site"):
        fetch_now(mgmt, DEFAULTS, "b.com")
    with pytest.raises(UsageError, match=r"https://a\.com/private/x is not crawled: .*excluded by '/private/'"):
        fetch_now(mgmt, DEFAULTS, "https://a.com/private/x")
    with pytest.raises(UrlRefused, match="its scheme is ftp"):
        fetch_now(mgmt, DEFAULTS, "ftp://a.com/")
    exclude(mgmt, "a.com")
    with pytest.raises(UsageError, match=r"https://a\.com/ is not crawled: .*site a\.com"):
        fetch_now(mgmt, DEFAULTS, "a.com")
    assert [wish.uri for wish in mgmt.wishes()] == ["com.a"]


# Learned rules.


def test_what_was_learned_of_a_parameter_is_overruled_and_counts_again(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["https://a.com/"], "domains")
    site = drop_parameters(mgmt, DEFAULTS, "com.a.www/list", ["sort", "dir"])
    assert (site.name, site.settings) == ("a.com", SiteSettings(drop_parameters=("sort", "dir")))
    site = keep_parameters(mgmt, DEFAULTS, "com.a", ["sort"])
    assert site.settings == SiteSettings(keep_parameters=("sort",), drop_parameters=("dir",))
    site = learn_parameters(mgmt, DEFAULTS, "com.a", ["sort", "dir"])
    assert site.settings == SiteSettings()
    assert mgmt.sites() == [site]


@pytest.mark.parametrize("name", ["", "a&b", "a=1", "a b", "x" * 201, "a\0", "order and repetition of parameters"])
def test_what_is_no_parameter_is_refused(mgmt: MemoryMgmt, name: str) -> None:
    add_urls(mgmt, DEFAULTS, ["https://a.com/"])
    with pytest.raises(UsageError, match="is no name of a query parameter"):
        keep_parameters(mgmt, DEFAULTS, "com.a", [name])


def test_a_place_of_no_site_is_refused(mgmt: MemoryMgmt) -> None:
    with pytest.raises(NotKnown, match=r"com\.a/x belongs to no site"):
        keep_parameters(mgmt, DEFAULTS, "com.a/x", ["sort"])
    with pytest.raises(UrlRefused, match="it is not a uri"):
        keep_parameters(mgmt, DEFAULTS, "?", ["sort"])


def test_the_parameters_of_a_site_are_bounded(mgmt: MemoryMgmt) -> None:
    add_urls(mgmt, DEFAULTS, ["https://a.com/"])
    drop_parameters(mgmt, DEFAULTS, "com.a", [f"p{n}" for n in range(200)])
    with pytest.raises(UsageError, match=r"a\.com has 200 parameters"):
        drop_parameters(mgmt, DEFAULTS, "com.a", ["more"])


# Processes and chunks.


def test_one_node_or_all_are_paused_and_resumed(mgmt: MemoryMgmt) -> None:
    one, other = (mgmt.register(NodeType.SPIDER, f"127.0.0.1:{port}") for port in (1, 2))
    assert [node.address for node in pause(mgmt, one.address)] == [one.address]
    assert [mgmt.heartbeat(lease) for lease in (one, other)] == [NodeState.PAUSED, NodeState.ONLINE]
    assert len(pause(mgmt)) == 2
    assert {node.asked for node in resume(mgmt)} == {NodeState.ONLINE}
    with pytest.raises(NotKnown, match="no node has the address nowhere"):
        pause(mgmt, "nowhere")


def test_nothing_is_retried_where_nothing_failed(mgmt: MemoryMgmt) -> None:
    assert retry_chunks(mgmt) == Retried(0)
    assert retry_chunks(mgmt, [7]) == Retried(0)
