"""What decides about a URL, for people: from the general to the particular."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.answers.host_now import HostNow, HostSilent

if TYPE_CHECKING:
    from weft.answers.why import Hop, LinkHistory, RobotsNow, Why
    from weft.mgmt.values import LinkFacts


def why_lines(why: Why) -> list[str]:
    lines = [f"{why.url} (uri {why.uri}, domain {why.domain})"]
    if not why.known:
        lines.append("not known: no page that was crawled names it, and it was not added")
    lines.append(f"scope: site {why.scope}" if why.scope else "scope: out of scope, it belongs to no site")
    if why.budget:
        lines.append(f"budget: {why.budget.taken} of {why.budget.most} links of the site were chosen so far")
    if why.refusal and why.scope:
        lines.append(f"not crawled: {why.refusal}")
    if why.sitemap_of:
        lines.append(f"sitemap: robots.txt of {why.sitemap_of} names it")
    if why.record:
        lines += _history_lines(why.record, why.leads_to, is_sitemap=bool(why.sitemap_of))
    if why.control:
        lines.append("control plane: " + _control_words(why.control))
    if why.robots:
        lines.append("robots.txt: " + _robots_words(why.robots))
    return lines + _host_lines(why.host, is_known=why.known)


def _history_lines(record: LinkHistory, leads_to: list[Hop], *, is_sitemap: bool) -> list[str]:
    place = {
        "new": "waits for its first turn",
        "given": "is in the control plane's hands",
        "due": f"is due again {record.due}",
        "hidden": "is not to be fetched",
    }[record.place]
    added = "was found in robots.txt" if is_sitemap else "was added"
    found = f"found {record.discovered} on {record.source}" if record.source else added
    lines = [f"link: {place}; {found}; {record.depth} hops away"]
    if record.fetched:
        outcome = record.error or f"status {record.status}"
        failures = f", {record.failures} failures in a row" if record.failures > 1 else ""
        lines.append(f"last fetch: {record.fetched}, {outcome}{failures}")
    if leads_to:
        lines.append("redirect: leads to " + ", then ".join(_hop_words(hop) for hop in leads_to))
    if record.canonical:
        by = "stands for it, by a rule" if record.place == "hidden" else "is named as canonical by the page"
        lines.append(f"canonical: {record.canonical} {by}")
    return lines


def _hop_words(hop: Hop) -> str:
    outcome = hop.error or (f"status {hop.status}" if hop.status else "not fetched yet")
    return f"{hop.uri} ({outcome})"


def _control_words(link: LinkFacts) -> str:
    words = [f"link {link.doc_id} is {link.state}"]
    words += [f"{name} {value}" for name in ("chunk", "status", "error") if (value := getattr(link, name))]
    return ", ".join(words) + (f", leads to {link.location}" if link.location else "")


def _robots_words(robots: RobotsNow) -> str:
    verdict = "allowed" if robots.allowed else "refused"
    by = f" by {robots.line!r}" if robots.line else " (no line speaks of it)"
    delay = f"; Crawl-delay {robots.crawl_delay:g} s" if robots.crawl_delay else ""
    return f"{verdict}{by}{delay}; asked for again {robots.expires}"


def _host_lines(host: HostNow | HostSilent, *, is_known: bool) -> list[str]:
    if isinstance(host, HostSilent):
        # Who asks about a URL that nobody knows does not want to hear of servers.
        return [f"host {host.host}: {host.problem}"] if is_known else []
    lines = [f"host {host.host}: {words}" for words in host.words]
    if host.queue and host.queue.active:
        lines.append("in spiders' hands: " + ", ".join(host.queue.active))
    return lines
