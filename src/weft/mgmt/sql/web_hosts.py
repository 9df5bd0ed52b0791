"""What is known about web hosts: robots.txt, addresses, sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import Final

import msgspec

from weft.mgmt.rules.transitions import Cause, link_after
from weft.mgmt.sql.database import Row, Transaction
from weft.mgmt.sql.leases import alive
from weft.mgmt.values import Address, ClaimedLink, Lease, LinkState, Robots
from weft.model.host import slot_of, web_host_of
from weft.model.site import Site, SiteSettings, read_settings

_FIND_ROBOTS: Final = """
SELECT uri, "index", link, state, node, claim FROM link
WHERE kind = 'robots' AND uri {among origins} ORDER BY "index" {lock}
"""
_NEW_ROBOTS: Final = """
INSERT INTO link (link, kind, uri, web_host)
SELECT url, 'robots', origin, web_host FROM {rows origin:text url:text web_host:text} AS given WHERE true
ORDER BY origin ON CONFLICT (uri, kind) DO NOTHING
"""
_OPEN_ROBOTS: Final = """
UPDATE link SET state = 'crawling', link = given.url, web_host = given.web_host, node = given.node, claim = given.claim
FROM {rows doc_id:int url:text web_host:text node:int claim:int} AS given WHERE link."index" = given.doc_id
"""
_SAVE_ROBOTS: Final = """
INSERT INTO robots (origin, status, body, fetched, expires, error, settings)
VALUES (:origin, :status, :body, :fetched, :expires, :error, :settings)
ON CONFLICT (origin) DO UPDATE SET status = excluded.status, body = excluded.body, fetched = excluded.fetched,
    expires = excluded.expires, error = excluded.error, settings = excluded.settings
"""
_ROBOTS: Final = """
SELECT origin, status, body, fetched, expires, error, settings FROM robots WHERE origin {among origins}
"""

_SAVE_ADDRESSES: Final = """
INSERT INTO address (web_host, ip, ip_key, expires, reason, set_at)
SELECT web_host, ip, ip_key, expires, reason, :now
FROM {rows web_host:text ip:text ip_key:text expires:int reason:text} AS given WHERE true ORDER BY web_host
ON CONFLICT (web_host) DO UPDATE SET ip = excluded.ip, ip_key = excluded.ip_key, expires = excluded.expires,
    reason = excluded.reason, set_at = excluded.set_at
"""
_SAVE_SLOTS: Final = """
INSERT INTO pending_host (web_host, pending, ready_at, set_at, slot)
SELECT web_host, 0, :now, :now, slot FROM {rows web_host:text slot:int} AS given WHERE true ORDER BY web_host
ON CONFLICT (web_host) DO UPDATE SET slot = excluded.slot WHERE pending_host.slot <> excluded.slot
"""
_ADDRESSES: Final = "SELECT web_host, ip, ip_key, expires, reason FROM address WHERE web_host {among hosts}"

_SAVE_RATES: Final = """
INSERT INTO pending_host (web_host, pending, ready_at, set_at, rate)
SELECT web_host, 0, :now, :now, rate FROM {rows web_host:text rate:int} AS given WHERE true ORDER BY web_host
ON CONFLICT (web_host) DO UPDATE SET rate = excluded.rate
"""
_RATES: Final = "SELECT web_host, rate FROM pending_host WHERE web_host {among hosts} AND rate > 0"

_SITES: Final = "SELECT name, scope, is_excluded, seeds, settings, led_from FROM site ORDER BY name"
_SITES_NAMED: Final = "SELECT name, settings FROM site WHERE name {among names}"
_ADD_SITE: Final = """
INSERT INTO site (name, scope, is_excluded, seeds, settings, led_from)
VALUES (:name, :scope, :is_excluded, :seeds, :settings, :led_from)
ON CONFLICT (name) DO"""
_SET_SITE: Final = f"""{_ADD_SITE} UPDATE SET scope = excluded.scope, is_excluded = excluded.is_excluded,
    seeds = excluded.seeds, settings = excluded.settings, led_from = excluded.led_from
"""


def open_robots(tx: Transaction, crawler: Lease, urls: Mapping[str, str]) -> dict[str, ClaimedLink]:
    alive(tx, crawler)
    opened, changes = {}, []
    for origin, doc_id, url, state, node, claim in _robots_links(tx, urls):
        wanted, host = urls[origin], web_host_of(urls[origin])
        is_crawling = state == LinkState.CRAWLING
        if is_crawling and node != crawler.node:
            continue
        if is_crawling and url == wanted:
            opened[origin] = ClaimedLink(doc_id, url, host, claim)
            continue
        link_after(LinkState(state), Cause.OPEN, doc_id, is_robots=True)
        opened[origin] = ClaimedLink(doc_id, wanted, host, claim + 1)
        changes.append([doc_id, wanted, host, crawler.node, claim + 1])
    if changes:
        tx.run(_OPEN_ROBOTS, rows=changes)
    return opened


def _robots_links(tx: Transaction, urls: Mapping[str, str]) -> list[Row]:
    """Of all these origins, locked; those that are missing are made."""
    found = tx.rows(_FIND_ROBOTS, origins=sorted(urls)) if urls else []
    missing = sorted(urls.keys() - {origin for origin, *_ in found})
    if missing:
        tx.run(_NEW_ROBOTS, rows=[[origin, urls[origin], web_host_of(urls[origin])] for origin in missing])
        found += tx.rows(_FIND_ROBOTS, origins=missing)
    return found


def save_robots(tx: Transaction, robots: Sequence[Robots]) -> None:
    for one in sorted(robots, key=lambda one: one.origin):
        tx.run(_SAVE_ROBOTS, **msgspec.structs.asdict(one))


def robots(tx: Transaction, origins: Sequence[str]) -> dict[str, Robots]:
    rows = tx.rows(_ROBOTS, origins=list(origins))
    return {
        origin: Robots(
            origin=origin,
            status=status,
            body=bytes(body),
            fetched=fetched,
            expires=expires,
            error=error,
            settings=settings,
        )
        for origin, status, body, fetched, expires, error, settings in rows
    }


def save_addresses(tx: Transaction, addresses: Sequence[Address]) -> None:
    last = {address.web_host: address for address in addresses}
    if not last:
        return
    tx.run(_SAVE_ADDRESSES, rows=[list(msgspec.structs.astuple(last[name])) for name in sorted(last)], now=tx.now)
    slots = [[name, slot_of(last[name].ip_key)] for name in sorted(last)]
    tx.run(_SAVE_SLOTS, rows=slots, now=tx.now)


def addresses(tx: Transaction, web_hosts: Sequence[str]) -> dict[str, Address]:
    found = starmap(Address, tx.rows(_ADDRESSES, hosts=list(web_hosts)))
    return {address.web_host: address for address in found}


def save_rates(tx: Transaction, rates: Mapping[str, int]) -> None:
    if rates:
        tx.run(_SAVE_RATES, rows=sorted(map(list, rates.items())), now=tx.now)


def rates(tx: Transaction, web_hosts: Sequence[str]) -> dict[str, int]:
    return dict(tx.rows(_RATES, hosts=list(web_hosts)))


def settings_named(tx: Transaction, names: Iterable[str]) -> dict[str, SiteSettings]:
    """Of those sites that are there."""
    return {name: read_settings(text) for name, text in tx.rows(_SITES_NAMED, names=sorted(names))}


def sites(tx: Transaction) -> list[Site]:
    return [
        Site(
            name=name,
            scope=scope,
            is_excluded=bool(is_excluded),
            seeds=msgspec.json.decode(seeds),
            settings=read_settings(settings),
            led_from=led_from,
        )
        for name, scope, is_excluded, seeds, settings, led_from in tx.rows(_SITES)
    ]


def set_sites(tx: Transaction, sites: Sequence[Site]) -> None:
    _write_sites(tx, _SET_SITE, sites)


def add_sites(tx: Transaction, sites: Sequence[Site]) -> None:
    _write_sites(tx, f"{_ADD_SITE} NOTHING", sites)


def _write_sites(tx: Transaction, sql: str, sites: Sequence[Site]) -> None:
    # In one order, so that two who set the same sites do not wait for each other.
    for site in sorted(sites, key=lambda site: site.name):
        tx.run(
            sql,
            name=site.name,
            scope=site.scope,
            is_excluded=int(site.is_excluded),
            seeds=msgspec.json.encode(site.seeds).decode(),
            settings=msgspec.json.encode(site.settings).decode(),
            led_from=site.led_from,
        )
