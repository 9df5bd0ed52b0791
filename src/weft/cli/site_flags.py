"""Flags of `weft crawl` that are settings of the sites of its URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import click

from weft.errors import UsageError
from weft.model.site import SiteSettings

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE: Final = re.compile(r"([0-9]{1,15}) ?([KMG]?)(?:i?B)?", re.IGNORECASE)
_HARMLESS: Final = frozenset({"accept", "accept-language", "cache-control", "dnt", "from", "pragma", "referer"})
"""Header fields that hold no secret."""

_OPTIONS: Final = (
    click.option("--depth", type=click.IntRange(min=0), metavar="N", help="Follow links up to N hops from these URLs."),
    click.option("--include", multiple=True, metavar="PATTERN", help="Crawl only URLs that match; may be repeated."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out URLs that match; may be repeated."),
    click.option("--types", multiple=True, metavar="LIST", help="Fetch only HTML and these types, such as pdf,image."),
    click.option("--max-bytes", metavar="N", help="Leave out files that are larger, such as 500K or 5M."),
    click.option("--rate", type=float, metavar="N", help="Ask each host at most N times a second."),
    click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Send this header field too."),
)
_NAMES: Final = ("depth", "include", "exclude", "types", "max_bytes", "rate", "headers")


def site_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the flags; their values arrive as keyword arguments for `settings_of`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def settings_of(given: dict[str, Any]) -> dict[str, object]:
    """Settings of a site by name, as far as flags were given. Raises UsageError, without the value of a secret."""
    settings = {name: _value(name, given[name]) for name in _NAMES if given[name] not in (None, ())}
    checked = SiteSettings()
    for name, value in settings.items():
        try:
            checked = checked.with_setting(name, value)
        except UsageError as error:
            raise UsageError(f"{flag_of(name)}: {str(error).removeprefix(f'{name}: ')}") from None
    return settings


def secret_headers(settings: dict[str, object]) -> list[str]:
    """Names of header fields on the command line that may hold a secret."""
    headers = SiteSettings().with_setting("headers", settings.get("headers")).headers or {}
    return [name for name in headers if name.lower() not in _HARMLESS]


def flag_of(name: str) -> str:
    """The flag that sets a setting."""
    return "--header" if name == "headers" else f"--{name.replace('_', '-')}"


def _value(name: str, value: Any) -> object:
    if name == "types":
        return tuple(part.strip().lower() for text in value for part in text.split(",") if part.strip())
    if name == "max_bytes":
        return _size(value)
    return _headers(value) if name == "headers" else value


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--max-bytes {text}: expected a number of bytes, such as 200000, 500K or 5M")
    return int(match[1]) * _UNITS[match[2].upper()]


def _headers(lines: Iterable[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise UsageError('--header: expected "Name: value"')
        headers[name.strip()] = value.strip()
    return headers
