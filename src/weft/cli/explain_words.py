"""What decides about a URL, for people: from the general to the particular."""

from __future__ import annotations

from typing import Any


def spoken(facts: dict[str, Any]) -> list[str]:
    lines = [f"{facts['url']} (uri {facts['uri']}, domain {facts['domain']})"]
    if not facts["known"]:
        lines.append("not known: no page that was crawled names it, and it was not added")
    lines.append(f"scope: site {facts['scope']}" if facts["scope"] else "scope: out of scope, it belongs to no site")
    if facts["budget"]:
        lines.append("budget: {taken} of {most} links of the site were chosen so far".format(**facts["budget"]))
    if facts["refusal"] and facts["scope"]:
        lines.append(f"not crawled: {facts['refusal']}")
    if facts["sitemap_of"]:
        lines.append(f"sitemap: robots.txt of {facts['sitemap_of']} names it")
    if facts["record"]:
        lines += _record_lines(facts["record"], facts["leads_to"], is_sitemap=bool(facts["sitemap_of"]))
    if facts["control"]:
        lines.append("control plane: " + _control_words(facts["control"]))
    if facts["robots"]:
        lines.append("robots.txt: " + _robots_words(facts["robots"]))
    return lines + _host_lines(facts["host"], is_known=facts["known"])


def _record_lines(record: dict[str, Any], leads_to: list[dict[str, Any]], *, is_sitemap: bool) -> list[str]:
    place = {
        "new": "waits for its first turn",
        "given": "is in the control plane's hands",
        "due": f"is due again {record.get('due', '')}",
        "hidden": "is not to be fetched",
    }[record["place"]]
    added = "was found in robots.txt" if is_sitemap else "was added"
    found = f"found {record.get('discovered', '')} on {record['source']}" if record.get("source") else added
    lines = [f"link: {place}; {found}; {record['depth']} hops away"]
    if record.get("fetched"):
        outcome = record.get("error") or f"status {record.get('status')}"
        failures = f", {record['failures']} failures in a row" if record.get("failures", 0) > 1 else ""
        lines.append(f"last fetch: {record['fetched']}, {outcome}{failures}")
    if leads_to:
        lines.append("redirect: leads to " + ", then ".join(_hop(each) for each in leads_to))
    if record.get("canonical"):
        said = "stands for it, by a rule" if record["place"] == "hidden" else "is named as canonical by the page"
        lines.append(f"canonical: {record['canonical']} {said}")
    return lines


def _hop(hop: dict[str, Any]) -> str:
    outcome = hop.get("error") or (f"status {hop['status']}" if hop.get("status") else "not fetched yet")
    return f"{hop['uri']} ({outcome})"


def _control_words(control: dict[str, Any]) -> str:
    words = [f"link {control['doc_id']} is {control['state']}"]
    words += [f"{name} {control[name]}" for name in ("chunk", "status", "error") if control[name]]
    return ", ".join(words) + (f", leads to {control['location']}" if control["location"] else "")


def _robots_words(robots: dict[str, Any]) -> str:
    verdict = "allowed" if robots["allowed"] else "refused"
    by = f" by {robots['line']!r}" if robots["line"] else " (no line speaks of it)"
    delay = f"; Crawl-delay {robots['crawl_delay']:g} s" if robots["crawl_delay"] else ""
    return f"{verdict}{by}{delay}; asked for again {robots['expires']}"


def _host_lines(host: dict[str, Any], *, is_known: bool) -> list[str]:
    if "problem" in host:
        # Who asks about a URL that nobody knows does not want to hear of servers.
        return [f"host {host['host']}: {host['problem']}"] if is_known else []
    lines = [f"host {host['host']}: {words}" for words in host["words"]]
    if host["queue"] and host["queue"]["active"]:
        lines.append("in spiders' hands: " + ", ".join(host["queue"]["active"]))
    return lines
