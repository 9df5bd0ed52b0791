"""Content types: which of them a user wants, by the names that people use, and what the suffix of a URL tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*)")
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"

TYPE_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "html": ("text/html", "application/xhtml+xml"),
    "pdf": ("application/pdf", "application/x-pdf"),
    "text": ("text/plain", "text/markdown", "text/csv"),
    "office": (
        "application/msword",
        "application/vnd.ms-*",
        f"{_OFFICE}.*",
        "application/vnd.oasis.*",
        "application/rtf",
    ),
    "ebook": ("application/epub+zip", "application/x-mobipocket-ebook"),
    "xml": ("text/xml", "application/xml"),
    "json": ("application/json", "application/ld+json"),
    "css": ("text/css",),
    "script": ("text/javascript", "application/javascript", "application/x-javascript"),
    "font": ("font/*", "application/font-*", "application/vnd.ms-fontobject"),
    "image": ("image/*",),
    "audio": ("audio/*",),
    "video": ("video/*",),
    "archive": (
        "application/zip",
        "application/gzip",
        "application/x-gzip",
        "application/x-tar",
        "application/x-7z-compressed",
        "application/x-bzip2",
        "application/x-xz",
        "application/vnd.rar",
        "application/x-rar-compressed",
        "application/java-archive",
    ),
    "program": ("application/x-msdownload", "application/vnd.debian.binary-package", "application/x-iso9660-image"),
}
"""What people call them, and the media types that they mean; a `*` at the end stands for anything."""

# They name the pages to crawl: without them nothing would be found.
_ALWAYS: Final = (*TYPE_NAMES["html"], *TYPE_NAMES["xml"], "application/rss+xml", "application/atom+xml")
_SITEMAP_SUFFIXES: Final = (".xml.gz", ".txt.gz")
_UNTOLD: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/force-download"})
"""Header values that say nothing about the type."""

_SUFFIXES: Final[Mapping[str, str]] = {
    suffix: media_type
    for media_type, suffixes in {
        "application/pdf": "pdf",
        "text/plain": "txt log",
        "text/markdown": "md",
        "text/csv": "csv",
        "application/msword": "doc dot",
        "application/vnd.ms-excel": "xls",
        "application/vnd.ms-powerpoint": "ppt pps",
        f"{_OFFICE}.wordprocessingml.document": "docx",
        f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
        f"{_OFFICE}.presentationml.presentation": "pptx",
        "application/vnd.oasis.opendocument.text": "odt",
        "application/vnd.oasis.opendocument.spreadsheet": "ods",
        "application/vnd.oasis.opendocument.presentation": "odp",
        "application/rtf": "rtf",
        "application/epub+zip": "epub",
        "application/x-mobipocket-ebook": "mobi",
        "application/json": "json",
        "text/css": "css",
        "text/javascript": "js mjs",
        "font/woff": "woff woff2 ttf otf eot",
        "image/jpeg": "jpg jpeg jpe",
        "image/png": "png",
        "image/gif": "gif",
        "image/webp": "webp",
        "image/svg+xml": "svg svgz",
        "image/x-icon": "ico",
        "image/tiff": "tif tiff",
        "image/bmp": "bmp",
        "image/avif": "avif",
        "audio/mpeg": "mp3",
        "audio/ogg": "ogg oga opus",
        "audio/wav": "wav",
        "audio/flac": "flac",
        "audio/mp4": "m4a aac",
        "video/mp4": "mp4 m4v",
        "video/webm": "webm",
        "video/x-matroska": "mkv",
        "video/quicktime": "mov",
        "video/x-msvideo": "avi",
        "video/mpeg": "mpg mpeg",
        "video/x-ms-wmv": "wmv",
        "application/zip": "zip",
        "application/gzip": "gz tgz",
        "application/x-tar": "tar",
        "application/x-7z-compressed": "7z",
        "application/x-bzip2": "bz2",
        "application/x-xz": "xz",
        "application/vnd.rar": "rar",
        "application/java-archive": "jar war",
        "application/x-msdownload": "exe msi dll",
        "application/vnd.debian.binary-package": "deb rpm apk dmg pkg",
        "application/x-iso9660-image": "iso img",
    }.items()
    for suffix in suffixes.split()
}
"""Suffixes whose meaning nobody doubts. Those that servers use for pages (php, asp, xml) are not among them."""


def types_problem(types: Sequence[str]) -> str:
    """What is wrong with a list of types; nothing if it can be used."""
    for name in types:
        if name not in TYPE_NAMES and not _MEDIA_TYPE.fullmatch(name):
            names = ", ".join(TYPE_NAMES)
            return f"{name!r} is no type; expected one of {names}, or a media type such as image/png or image/*"
    return ""


def suffix_type(url: str) -> str:
    """The media type that the suffix of a URL's path names; empty where it names none."""
    path = url.partition("?")[0].partition("://")[2].partition("/")[2].lower()
    if path.endswith(_SITEMAP_SUFFIXES):
        return ""
    return _SUFFIXES.get(path.rpartition("/")[2].rpartition(".")[2], "") if "." in path.rpartition("/")[2] else ""


def media_type_of(content_type: str) -> str:
    """The media type in a Content-Type header field, without its parameters."""
    return content_type.partition(";")[0].partition(",")[0].strip().lower()


def is_wanted(types: Sequence[str], content_type: str, url: str) -> bool:
    """Whether a response with this Content-Type is; where the header says nothing, the suffix of its URL counts."""
    media_type = media_type_of(content_type)
    if media_type in _UNTOLD or url.partition("?")[0].lower().endswith(_SITEMAP_SUFFIXES):
        media_type = suffix_type(url)
    return not media_type or is_type_wanted(types, media_type)


def is_type_wanted(types: Sequence[str], media_type: str) -> bool:
    patterns = (*_ALWAYS, *(pattern for name in types for pattern in TYPE_NAMES.get(name, (name,))))
    return any(_matches(pattern, media_type) for pattern in patterns)


def _matches(pattern: str, media_type: str) -> bool:
    return media_type.startswith(pattern[:-1]) if pattern.endswith("*") else media_type == pattern
