"""What a tantivy index of ours holds, field by field.

Words are searched in five fields without stemming (title, headings, anchors, url, text) and, where the language has a
stemmer, as stems of everything that the page itself says. Facts for ranking, folding and filtering are columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tantivy import Document, Index, Schema, SchemaBuilder

from weft.model.domain import Domain
from weft.model.url import Uri, domain_of, host_of
from weft.search.analysis import STEMMED, STEMMERS, make_analyzer, prepared, words
from weft.search.document import SearchDocument, key_of

FORMAT: Final = 2
"""Raise it when fields, analysis or the document change: every index of before is built anew then. 2: of too many links
to a page, each domain has its say."""
ANSWERING: Final = frozenset({1, FORMAT})
"""Indexes of these formats have the same fields and words: they answer until the new one is built."""

WORDS: Final = "words"
"""The name of the analysis without stemming."""
WORD_FIELDS: Final = ("title", "headings", "anchors", "url", "text")
MOST_NAME_WORDS: Final = 10
"""Words of a name; longer texts are sentences."""
_LONGEST_NAME: Final = 200
_TITLE_PARTS: Final = re.compile(r"\s+[-–—|·:»(]+\s*|:\s+")
NOTE_FIELD, NOTE_NAME = "note", "cursors"


def stem_field(stemmer: str) -> str:
    return f"stems_{stemmer}"


def make_schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_text_field("uri", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("digest", stored=True)
    for name in WORD_FIELDS:
        builder.add_text_field(name, tokenizer_name=WORDS)
    for stemmer in STEMMERS:
        # Phrases and neighbours are matched as they are written: positions would double the size of the stems.
        builder.add_text_field(stem_field(stemmer), tokenizer_name=stemmer, index_option="freq")
    builder.add_text_field("names", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("site", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("domain", fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("language", fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("crawled", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("changed", indexed=True, fast=True)
    for name in ("references", "key", "group", "simhash", "domain_key"):
        builder.add_unsigned_field(name, fast=True)
    builder.add_text_field(NOTE_FIELD, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("noted", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


def register_analyzers(index: Index) -> None:
    """tantivy does not keep them with the index."""
    index.register_tokenizer(WORDS, make_analyzer())
    for stemmer in STEMMERS:
        index.register_tokenizer(stemmer, make_analyzer(stemmer))


def as_tantivy(document: SearchDocument) -> Document:
    made = Document()
    uri = Uri(document.uri)
    domain = domain_of(uri)
    made.add_text("uri", document.uri)
    made.add_bytes("digest", document.digest())
    _add_words(made, document)
    for name in sites_of(uri, domain):
        made.add_text("site", name)
    made.add_text("domain", domain)
    if document.language:
        made.add_text("language", document.language)
    made.add_text("crawled", "yes" if document.crawled else "no")
    made.add_integer("changed", document.changed)
    made.add_unsigned("references", document.references)
    made.add_unsigned("key", document.key)
    made.add_unsigned("group", document.group)
    made.add_unsigned("simhash", document.simhash)
    made.add_unsigned("domain_key", key_of(domain))
    return made


def _add_words(made: Document, document: SearchDocument) -> None:
    title, text = prepared(document.title), prepared(document.text)
    # As one text: a call for each heading costs more than a phrase that spans two of them.
    headings = prepared("\n".join([*document.headings, document.description]))
    for name in names_of(document):
        made.add_text("names", name)
    made.add_text("title", title)
    made.add_text("text", text)
    made.add_text("url", prepared(document.url_text))
    made.add_text("headings", headings)
    for anchor in document.anchors:
        made.add_text("anchors", prepared(anchor))
    if stemmer := STEMMED.get(document.language):
        made.add_text(stem_field(stemmer), f"{title}\n{headings}\n{text}")


def names_of(document: SearchDocument) -> list[str]:
    """What the page is called as a whole: its title, the parts of its title, and the words of links to it."""
    parts = _TITLE_PARTS.split(document.title)
    said = [document.title, *(parts if len(parts) > 1 else ()), *document.headings[:1], *document.anchors]
    called = [words(one) for one in said if len(one) <= _LONGEST_NAME]
    return list(dict.fromkeys(as_name(one) for one in called if 0 < len(one) <= MOST_NAME_WORDS))


def as_name(found: Sequence[str]) -> str:
    return " ".join(found)


def sites_of(uri: Uri, domain: Domain) -> list[str]:
    """What `site:` may name: the host, and every name above it down to the domain."""
    host = host_of(uri)
    names = [host]
    while host != domain and "." in host:
        host = host.partition(".")[2]
        names.append(host)
    return names
