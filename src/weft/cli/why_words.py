"""What `weft why` prints: everything that decides about a URL, from the general to the particular."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.answers.host_now import HostNow, HostSilent
from weft.model.fetch_error import FetchError

if TYPE_CHECKING:
    from weft.answers.why import Hop, LinkHistory, RobotsNow, Why
    from weft.mgmt.values import LinkFacts


def why_lines(why: Why) -> list[str]:
    lines = [f"{why.url} (uri {why.uri}, domain {why.domain})"]
    if not why.known:
        lines.append("not known: no crawled page links to it, and it is not a seed")
    lines.append(f"site: {why.scope}" if why.scope else "site: none, so it is out of scope")
    if why.budget:
        lines.append(f"budget: {why.budget.taken:,} of {why.budget.most:,} links of the site are used")
    if why.refusal and why.scope:
        lines.append(f"not crawled: {why.refusal}")
    if why.sitemap_of:
        lines.append(f"sitemap: listed in the robots.txt of {why.sitemap_of}")
    if why.record:
        lines += _history_lines(why.record, why.leads_to, is_sitemap=bool(why.sitemap_of))
    if why.control:
        lines.append("control plane: " + _control_words(why.control))
    if why.robots:
        lines.append("robots.txt: " + _robots_words(why.robots))
    return lines + _host_lines(why.host, is_known=why.known)


def _history_lines(record: LinkHistory, leads_to: list[Hop], *, is_sitemap: bool) -> list[str]:
    because = f" ({record.due_because})" if record.due_because else ""
    place = {
        "new": "waiting for its first fetch",
        "given": "handed over for fetching",
        "due": f"next fetch due {record.due or 'now'}{because}",
        "hidden": "will not be fetched",
    }[record.place]
    added = "found in robots.txt" if is_sitemap else "a seed"
    found = f"found {record.discovered} on {record.source_url}" if record.source else added
    lines = [f"link: {place}; {found}; depth {record.depth}"]
    if record.fetched:
        outcome = _error_words(record.error) or f"status {record.status}"
        failures = f", {record.failures} failures in a row" if record.failures > 1 else ""
        lines.append(f"last fetch: {record.fetched}, {outcome}{failures}")
    if record.decided and record.decided != record.fetched:
        lines.append(f"index: holds what the fetch of {record.decided} found")
    if leads_to:
        lines.append("redirect: leads to " + ", then ".join(_hop_words(hop) for hop in leads_to))
    if record.canonical:
        by = "fetched instead, because of a rule" if record.place == "hidden" else "named by the page"
        lines.append(f"canonical: {record.canonical_url} ({by})")
    return lines


def _error_words(error: str) -> str:
    return f"{FetchError.of(error).sentence} ({error})" if error else ""


def _hop_words(hop: Hop) -> str:
    outcome = hop.error or (f"status {hop.status}" if hop.status else "not fetched yet")
    return f"{hop.url} ({outcome})"


def _control_words(link: LinkFacts) -> str:
    words = [f"link {link.doc_id} is {link.state}"]
    words += [f"{name} {value}" for name in ("chunk", "status", "error") if (value := getattr(link, name))]
    return ", ".join(words) + (f", leads to {link.location}" if link.location else "")


def _robots_words(robots: RobotsNow) -> str:
    verdict = "allowed" if robots.allowed else "refused"
    by = f" by {robots.line!r}" if robots.line else " (no line matches)"
    delay = f"; Crawl-delay {robots.crawl_delay:g} s" if robots.crawl_delay else ""
    return f"{verdict}{by}{delay}; next check {robots.expires}"


def _host_lines(host: HostNow | HostSilent, *, is_known: bool) -> list[str]:
    if isinstance(host, HostSilent):
        # For an unknown URL the state of the servers is beside the point.
        return [f"host {host.host}: {host.problem}"] if is_known else []
    lines = [f"host {host.host}: {words}" for words in host.words]
    if host.queue and host.queue.active:
        lines.append("being fetched: " + ", ".join(host.queue.active))
    return lines
