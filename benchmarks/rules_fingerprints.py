"""Both errors of the fingerprint: pages that are the same and look changed, pages that differ and look the same."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fastwarc import ArchiveIterator, WarcRecordType

from weft.demo.web.patterns.pages import prose
from weft.html import parse_page

ARCHIVES = ("iana.warc.gz", "cc-whirlwind/whirlwind.warc.gz", "warcio/example.warc.gz")
SUITES = Path(os.environ.get("WEFT_SUITES") or Path(__file__).parents[2] / "shared" / "suites")
_CONTENT = "text/html; charset=utf-8"


class Passing(NamedTuple):
    """What changes with each visit."""

    date: str = "Saturday, 31 January 2026, 12:30"
    views: int = 1234
    seconds: str = "0.123"
    nonce: str = "c0ffee"
    advertisement: str = ""
    space: str = "\n"


def dates(dice: random.Random) -> Passing:
    day, month = dice.randint(1, 28), dice.choice(["January", "March", "July", "December"])
    return Passing(date=f"Monday, {day} {month} 20{dice.randint(10, 29)}, {dice.randint(0, 23)}:{dice.randint(10, 59)}")


def counters(dice: random.Random) -> Passing:
    return Passing(views=dice.randint(1, 10**7), seconds=f"{dice.uniform(0, 3):.3f}")


def nonces(dice: random.Random) -> Passing:
    return Passing(nonce=f"{dice.getrandbits(64):x}")


def spaces(dice: random.Random) -> Passing:
    return Passing(space=dice.choice(["\n", "  \n", "\r\n\t", " <!-- built 7 --> ", "\n<span></span>\n"]))


def slots(dice: random.Random) -> Passing:
    """Advertisements that a frame or a script brings: they are no words of the page."""
    number = dice.randint(1, 10**6)
    frame = f"<iframe src=/ad?{number}>Ad {number}</iframe>"
    return Passing(advertisement=dice.choice([frame, f"<script>show({number})</script>", f"<ins id=a{number}></ins>"]))


def everything(dice: random.Random) -> Passing:
    made = [make(dice) for make in (dates, counters, nonces, spaces, slots)]
    return Passing(made[0].date, made[1].views, made[1].seconds, made[2].nonce, made[4].advertisement, made[3].space)


def words(dice: random.Random) -> Passing:
    return Passing(advertisement=f"<div class=ad>{prose(dice.random(), 8)}</div>")


CHANGES: dict[str, Callable[[random.Random], Passing]] = {
    "dates and times": dates,
    "counters": counters,
    "nonces": nonces,
    "white space, comments": spaces,
    "slots of advertisements": slots,
    "all of these": everything,
}
BEYOND = {"advertisements in words": words}
"""Nothing tells that these are not the page's own words."""


def generated(number: int, passing: Passing) -> bytes:
    space, about = passing.space, [prose(f"{number // 3} {part}", 40) for part in range(4)]
    body = space.join(f"<p>{part}</p>" for part in about)
    return (
        f"<!doctype html><title>Shop</title><meta name=token content={passing.nonce}>"
        f'<script nonce="{passing.nonce}">var time = {passing.views};</script><body>{space}'
        f"<header>{passing.date}</header>{space}<h1>{prose(number // 3, 3)}</h1>{body}{passing.advertisement}"
        f"<p>Item {number}</p><input type=hidden name=token value={passing.nonce}>"
        f"<footer>{passing.views:,} views{space}made in {passing.seconds} seconds</footer>"
    ).encode()


def fingerprint_of(body: bytes) -> int:
    return parse_page(body, _CONTENT).fingerprint


def looking_changed(make: Callable[[random.Random], Passing], pages: int, visits: int = 4) -> int:
    """Generated pages with more than one fingerprint."""
    dice = random.Random(7)
    prints = ({fingerprint_of(generated(n, make(dice))) for _ in range(visits)} for n in range(pages))
    return sum(len(each) > 1 for each in prints)


def looking_the_same(bodies: dict[str, bytes]) -> int:
    """Pages that share their fingerprint with one that says something else."""
    seen = Counter(found for body in bodies.values() if (found := fingerprint_of(body)))
    return sum(count - 1 for count in seen.values())


def disturbed(body: bytes, number: int) -> bytes:
    """The page with other nonces, attributes and scripts, and more white space; its words are the same."""
    noise = b'<script nonce="%d">t(%d)</script>' % (number, number)
    marked = re.sub(rb"(?i)<body[^>]{0,500}>", lambda found: found[0] + noise, body, count=1)
    named = re.sub(rb"(?i)<(p|div|td|li)\b", lambda found: found[0] + b" data-visit=%d" % number, marked)
    return re.sub(rb"(?i)</(p|div|td|li|h[1-6])>", lambda found: found[0] + b"\n \t", named)


def archived() -> dict[str, bytes]:
    """HTML pages of the suites' archives whose texts differ, by their text."""
    return {parse_page(body, _CONTENT).text: body for name in ARCHIVES for body in _bodies(SUITES / "warc" / name)}


def _bodies(file: Path) -> Iterator[bytes]:
    if not file.exists():
        return
    with file.open("rb") as opened:
        for record in ArchiveIterator(opened, record_types=WarcRecordType.response, auto_decode="content"):
            body = record.reader.read()
            if body and record.http_content_type == "text/html":
                yield body


def print_fingerprints(*, is_quick: bool) -> None:
    pages = 100 if is_quick else 1000
    print(f"\nfingerprint, {pages} generated pages, four visits each")
    for name, make in (CHANGES | BEYOND).items():
        print(f"  same page, other {name:26} {looking_changed(make, pages) / pages:7.1%} look changed")
    alike = looking_the_same({str(n): generated(n, Passing()) for n in range(pages)})
    print(f"  other page, one number differs                {alike / pages:7.1%} look the same")
    found = archived()
    if found:
        changed = sum(fingerprint_of(body) != fingerprint_of(disturbed(body, 5)) for body in found.values())
        alike = looking_the_same(found)
        print(f"  {len(found)} archived pages: {changed} look changed by other markup, {alike} look like another one")
