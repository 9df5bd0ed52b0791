"""All that is known of a page."""

from __future__ import annotations

from weft.answers.near import near_items
from weft.answers.objects import PageAnswer, moment, moment_or_none
from weft.answers.page_facts import PageFacts, facts_of, unloaded_url
from weft.answers.page_state import NO_FACTS
from weft.answers.view import View
from weft.dispatcher.link_records import LinkRecord
from weft.linkindex import keys
from weft.linkindex.records import PageAddress, UriInfo, Version, decode_address, read_facts
from weft.model.url import PageUrl
from weft.store.tables import Table


def page_answer(view: View, page: PageUrl, link: LinkRecord | None) -> PageAnswer | None:
    """None if neither the index nor a crawl, by its record of the link, knows the page."""
    info = view.info(page)
    cur, version, gone = view.values(
        Table.FLUO, [keys.page_column(page.uri.encode(), name) for name in (keys.CUR, keys.VERSION, keys.GONE)]
    )
    if not (info.references or info.docs or gone or link):
        return None
    doc = view.value(Table.DOCS, keys.doc_column(page.uri.encode()))
    facts = facts_of(link, read_facts(doc) if doc else NO_FACTS, is_loaded=bool(info.docs), is_deleted=gone is not None)
    return _answer(view, page, info, link, facts, decode_address(cur) if cur else None, version or gone)


def _answer(
    view: View,
    page: PageUrl,
    info: UriInfo,
    link: LinkRecord | None,
    facts: PageFacts,
    record: PageAddress | None,
    seen: bytes | None,
) -> PageAnswer:
    return PageAnswer(
        seq=view.seq,
        uri=page.uri,
        url=record.url if record else unloaded_url(page.uri, info, link),
        domain=page.domain,
        references=info.references,
        score=info.references + info.docs,
        crawled=bool(info.docs),
        state=facts.state,
        reason=facts.reason,
        fetched=moment(Version.decode(seen).fetched) if seen else None,
        next_due=moment_or_none(facts.next_due),
        status=facts.status,
        type=facts.type,
        bytes=facts.bytes,
        depth=facts.depth,
        redirect=facts.redirect,
        canonical=facts.canonical,
        robots=facts.robots,
        title=record.title if record else None,
        h1=facts.h1,
        outlinkcount=record.outlinkcount if record else None,
        left_out=record.left_out if record else 0,
        failing_since=moment_or_none(facts.failing_since),
        failures=facts.failures,
        counting=view.counting,
        near=near_items(view, page.uri) if info.docs else [],
    )
