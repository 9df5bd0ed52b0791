"""What people can change through the web app; each is an action that commands offer too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from weft.actions.add_urls import AddedUrls, add_urls
from weft.actions.chunks import retry_chunks
from weft.actions.fetch_now import fetch_now
from weft.actions.parameters import drop_parameters, keep_parameters, learn_parameters
from weft.actions.run_control import pause, resume, stop
from weft.actions.sites import exclude, include
from weft.errors import NotKnown, UsageError
from weft.mgmt.api import Mgmt, OperatorCalls
from weft.mgmt.values import Node
from weft.roles.identity import require_identity
from weft.web.change import Change, Done
from weft.web.param_types import Url
from weft.web.resources import WebResources

_Site = Annotated[str, Meta(min_length=1, max_length=1000, description="Its name, as the list of sites has it.")]


class _Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names that nobody knows are refused: a change that was misspelt must not seem to be done."""


class NothingMore(_Body, frozen=True, kw_only=True):
    pass


class AddBody(_Body, frozen=True, kw_only=True):
    url: Url
    scope: (
        Annotated[
            Literal["path", "hosts", "domains", "any"],
            Meta(description="What may be crawled from there; else the scope that the site has, or hosts."),
        ]
        | None
    ) = None
    local: Annotated[bool, Meta(description="It may be on this machine or in a private network.")] = False


class FetchBody(_Body, frozen=True, kw_only=True):
    url: Url


class NodesBody(_Body, frozen=True, kw_only=True):
    address: Annotated[str, Meta(max_length=300, description="One process; else all that run.")] | None = None


class ExcludeBody(_Body, frozen=True, kw_only=True):
    site: _Site
    new: Annotated[bool, Meta(description="Whether nobody has named this site yet.")] = False


class IncludeBody(_Body, frozen=True, kw_only=True):
    site: _Site


class RuleBody(_Body, frozen=True, kw_only=True):
    where: Annotated[str, Meta(min_length=1, max_length=16_000, description="The place of a rule, as rules have it.")]
    parameters: Annotated[str, Meta(min_length=1, max_length=2000, description="Their names, joined by &.")]


def _add(web: WebResources, asked: AddBody) -> Done:
    settings = web.loaded.settings

    def act(mgmt: Mgmt) -> AddedUrls:
        require_identity(mgmt, settings)
        return add_urls(mgmt, settings, [asked.url], asked.scope, is_local=asked.local)

    added = web.control.change(act)
    if added.refusals:
        raise UsageError(_refusal(asked, added))
    what = "is added" if added.new else "was known already and is fetched again"
    return Done(sentence=f"{asked.url} {what}. {_next(web)}", count=1)


def _refusal(asked: AddBody, added: AddedUrls) -> str:
    refused = added.refusals[0]
    if not refused.is_local:
        return refused.why
    return f"{asked.url} is on this machine or in a private network; say that this is meant (local), or name another"


def _next(web: WebResources) -> str:
    running = web.control.status().running
    if {"index", "urlserver", "spider"} <= set(running):
        return "Its first page comes in within seconds."
    return "No crawl is running: `weft up` starts one."


def _fetch(web: WebResources, asked: FetchBody) -> Done:
    wanted = web.control.change(lambda mgmt: fetch_now(mgmt, web.loaded.settings, asked.url))
    return Done(sentence=f"{wanted.url} is fetched as soon as its server may be asked.", count=1)


def _asking(ask: Callable[[OperatorCalls, str | None], list[Node]], word: str) -> Callable[..., Done]:
    def act(web: WebResources, asked: NodesBody) -> Done:
        count = len(web.control.change(lambda mgmt: ask(mgmt, asked.address)))
        return Done(sentence=f"{_processes(count)} asked to {word}.", count=count)

    return act


def _stop(web: WebResources, asked: NothingMore) -> Done:
    count = len(web.control.change(lambda mgmt: stop(mgmt, web.home, everywhere=True)).nodes)
    ours = "This web app ends with them" if web.is_supervised else "This web app stays, and shows what is known"
    return Done(sentence=f"{_processes(count)} asked to finish their work and end. {ours}.", count=count)


def _retry(web: WebResources, asked: NothingMore) -> Done:
    count = web.control.change(retry_chunks).chunks
    return Done(sentence=f"{count:,} chunk{'' if count == 1 else 's'} will be tried again.", count=count)


def _exclude(web: WebResources, asked: ExcludeBody) -> Done:
    _check_site(web, asked.site, may_be_new=asked.new)
    site = web.control.change(lambda mgmt: exclude(mgmt, asked.site, is_new=asked.new))
    return Done(sentence=f"{site.name} is crawled no more. Its pages stay in the index.", count=1)


def _include(web: WebResources, asked: IncludeBody) -> Done:
    _check_site(web, asked.site)
    site = web.control.change(lambda mgmt: include(mgmt, asked.site))
    return Done(sentence=f"{site.name} may be crawled again.", count=1)


def _check_site(web: WebResources, name: str, *, may_be_new: bool = False) -> None:
    """In the words of this app; the action knows the flags of commands."""
    if not may_be_new and name not in {site.name for site in web.control.read(lambda mgmt: mgmt.sites())}:
        raise NotKnown(f"{name[:100]} is not a site; the list of sites has their names")


def _ruling(rule: Callable[..., Any], sentence: str) -> Callable[..., Done]:
    def act(web: WebResources, asked: RuleBody) -> Done:
        names = asked.parameters.split("&")
        site = web.control.change(lambda mgmt: rule(mgmt, web.loaded.settings, asked.where, names))
        return Done(sentence=sentence.format(names=" and ".join(names), site=site.name), count=len(names))

    return act


def _processes(count: int) -> str:
    return "1 process is" if count == 1 else f"{count:,} processes are"


CHANGES: Final[Sequence[Change[Any]]] = (
    Change("/api/add", "Crawl a site, from this URL on", AddBody, _add),
    Change("/api/fetch", "Fetch a page of a site now, out of turn", FetchBody, _fetch),
    Change("/api/exclude", "Crawl a site no more", ExcludeBody, _exclude),
    Change("/api/include", "Crawl a site again that was excluded", IncludeBody, _include),
    Change("/api/pause", "Ask processes to pause", NodesBody, _asking(pause, "pause")),
    Change("/api/resume", "Ask processes to go on", NodesBody, _asking(resume, "go on")),
    Change("/api/stop", "Ask all processes on all machines to finish their work and end", NothingMore, _stop),
    Change("/api/retry", "Try to index chunks again that could not be indexed", NothingMore, _retry),
    Change(
        "/api/rules/keep",
        "Query parameters matter, whatever was learned about them",
        RuleBody,
        _ruling(keep_parameters, "On {site}, addresses that differ in {names} are pages of their own from now on."),
    ),
    Change(
        "/api/rules/drop",
        "Query parameters never matter",
        RuleBody,
        _ruling(drop_parameters, "On {site}, {names} will be ignored from now on."),
    ),
    Change(
        "/api/rules/learn",
        "What was learned about query parameters counts again",
        RuleBody,
        _ruling(learn_parameters, "On {site}, weft decides about {names} again."),
    ),
)
