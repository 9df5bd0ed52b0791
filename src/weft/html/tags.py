"""Which elements are what to us; the names are those of the HTML standard and its obsolete features."""

from __future__ import annotations

from typing import Final


def _named(names: str) -> frozenset[str]:
    return frozenset(names.split())


HEAD: Final = frozenset({"base", "link", "meta", "title"})

LINKS: Final = frozenset({"a", "area", "frame"})

HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

TEMPLATES: Final = frozenset({"template"})
"""Raw material for scripts, which is not part of the page."""

UNSEEN: Final = _named("annotation annotation-xml datalist noembed noframes noscript rp script style title")
"""Elements that leave no trace on the screen. Links in them count."""

REPLACED: Final = _named("audio canvas embed iframe object select svg textarea video")
"""Elements in whose place a reader sees something else than their text. They part words, and links in them count."""

INLINE: Final = _named(
    """
    abbr acronym b bdi bdo big blink cite code data del dfn em font i ins kbd label mark nobr q rb ruby s samp slot
    small span strike strong sub sup time tt u var wbr
    math mfrac mi mn mo mover mpadded mroot mrow ms msqrt mstyle msub msubsup msup mtext munder munderover semantics
    """
)
"""Elements that do not part words; every other element does, those with unknown names too."""

AS_WRITTEN: Final = frozenset({"listing", "plaintext", "pre", "xmp"})
"""Elements in which white space is kept."""
