"""Sitemaps: one file, or an index of packed parts."""

from __future__ import annotations

from typing import Final

from isal import igzip

from weft.demo.web.definition.hosts import DemoHost
from weft.demo.web.definition.links import Linker
from weft.demo.web.definition.words import escaped

PART: Final = 1_000
_NAMESPACE: Final = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def listed(host: DemoHost) -> list[range]:
    """Numbers of the resources that stand in the sitemap, part by part: pages and orphans."""
    layout = host.layout
    spans = (range(layout.pages), range(layout.count - layout.orphans, layout.count))
    return [span[at : at + PART] for span in spans for at in range(0, len(span), PART)]


def is_index(host: DemoHost) -> bool:
    """Odd hosts have an index of parts, and so have those that need one."""
    return bool(host.number % 2) or len(listed(host)) > 2


def sitemap_urls(linker: Linker, host: DemoHost, part: int | None) -> list[str]:
    """What a sitemap lists: pages, or the parts of an index."""
    parts = listed(host)
    if part is None and is_index(host):
        return [f"{linker.origin(host)}/sitemap-{number}.xml.gz" for number in range(len(parts))]
    chosen = parts if part is None else parts[part : part + 1]
    return [linker.url(host, number) for span in chosen for number in span]


def sitemap_body(linker: Linker, host: DemoHost, part: int | None) -> bytes:
    urls = sitemap_urls(linker, host, part)
    is_list = part is None and is_index(host)
    outer, inner = ("sitemapindex", "sitemap") if is_list else ("urlset", "url")
    entries = "".join(f"<{inner}><loc>{escaped(url)}</loc></{inner}>\n" for url in urls)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{outer} {_NAMESPACE}>\n{entries}</{outer}>\n'.encode()
    return text if part is None else igzip.compress(text, compresslevel=1, mtime=0)
