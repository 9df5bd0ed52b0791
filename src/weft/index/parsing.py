"""Fetches read by worker processes: the questions, the answers, and a fetch whose worker died."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from weft.config import Settings
from weft.config.agent import product_token
from weft.config.crawl_sections import LimitsSettings
from weft.index.builder import ReadAll
from weft.index.fetches import FetchReader, Read, failed
from weft.intake.records import Refused
from weft.intake.responses import Reading
from weft.intake.workers.child import Orders
from weft.intake.workers.pool import Language, Workers, processors
from weft.mgmt.values import BuildLink
from weft.model.url import UrlRules

_GROUP: Final = 25
"""Fetches of one question: few enough that all workers are busy, and that little is asked again after a death."""


class ReaderSettings(msgspec.Struct, frozen=True):
    """All that reading depends on, in a form that can be sent to another process."""

    strip: tuple[str, ...]
    max_length: int
    limits: LimitsSettings
    max_body: int
    product: str
    archive: str
    parent: int

    def reader(self) -> FetchReader:
        rules = UrlRules(self.strip, self.max_length)
        return FetchReader(Reading(rules, self.limits, self.max_body, self.product, now_ms=0), Path(self.archive))


class Fetches(msgspec.Struct, frozen=True, array_like=True):
    links: list[BuildLink]

    def __len__(self) -> int:
        return len(self.links)

    def singly(self) -> Iterator[Fetches]:
        return (Fetches([link]) for link in self.links)


class Answer(msgspec.Struct, frozen=True, array_like=True):
    read: Read | None
    refused: str = ""
    """Class of the error, of a fetch that cost a worker its life."""


encode: Final = msgspec.msgpack.Encoder().encode
decode_settings: Final = msgspec.msgpack.Decoder(ReaderSettings).decode
decode_fetches: Final = msgspec.msgpack.Decoder(Fetches).decode
_decode_answers: Final = msgspec.msgpack.Decoder(list[Answer]).decode


def _refuse(refused: Refused) -> Answer:
    return Answer(None, refused.reason.value.replace(" ", "_"))


_LANGUAGE: Final = Language[Fetches, Answer](encode, _decode_answers, _refuse)


def told_to_readers(settings: Settings, rules: UrlRules, archive: Path) -> ReaderSettings:
    return ReaderSettings(
        rules.strip,
        rules.max_length,
        settings.limits,
        settings.spider.max_body,
        product_token(settings.spider),
        str(archive),
        os.getpid(),
    )


@contextmanager
def reading_all(settings: Settings, rules: UrlRules, archive: Path, workers: int | None = None) -> Iterator[ReadAll]:
    """What reads many fetches at once; so many workers, or one less than there are processors."""
    told = told_to_readers(settings, rules, archive)
    orders = Orders("weft.index.worker", encode(told), settings.limits.parse_seconds)
    with Workers(workers or max(1, processors() - 1), orders, _LANGUAGE) as started:

        def read_all(links: Sequence[BuildLink]) -> list[Read]:
            pending = [started.give(Fetches(list(links[at : at + _GROUP]))) for at in range(0, len(links), _GROUP)]
            answers = [answer for each in pending for answer in each.take()]
            return [
                answer.read or failed(link.result, answer.refused) for link, answer in zip(links, answers, strict=True)
            ]

        yield read_all
