"""What every command shares: which home, which settings, and how a command is declared."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.home import DEFAULT_HOME, Home, chosen_home

if TYPE_CHECKING:
    from weft.answers.home_index import HomeIndex
    from weft.config import Loaded, Settings
    from weft.index.record_access import RecordSource
    from weft.model.url import UrlRules
    from weft.store.api import Reader, Store


@dataclass(slots=True)
class Invocation:
    """One run of the command line: `--home` and `--set`, before or after the command's name, and what they select."""

    home_flag: Path | None = None
    sets: list[str] = field(default_factory=list)

    @property
    def home(self) -> Home:
        return Home(self.home_flag) if self.home_flag else chosen_home(os.environ)

    def load(self) -> Loaded:
        from weft.config import load

        return load(self.home.path, os.environ, self.sets)

    def home_to_write(self) -> Home:
        """The home, which must exist; in a private one, everything that this process creates is private too."""
        home = self.home.require()
        home.keep_private()
        return home

    def make_home(self) -> bool:
        """Make the home if there is none; whether it was made now. None is made for servers that cannot be used."""
        from weft.config import starter

        if not self.home.exists:
            self.ask_servers()
        return self.home.make(starter())

    def ask_servers(self) -> None:
        """Raises an error that names a server of the settings and what is wrong with it."""
        from weft.mgmt.open import is_embedded, open_mgmt_to_read
        from weft.store.open import is_cluster, open_reader

        settings = self.load().settings
        if is_cluster(settings):
            open_reader(self.home.store, settings).close()
        if not is_embedded(settings):
            open_mgmt_to_read(settings, self.home).close()

    def reader(self) -> Reader:
        """The store of an existing home, to read from."""
        from weft.store.open import open_reader

        reader = open_reader(self.home.require().store, self.load().settings)
        if not reader.last_seq:
            self._refuse_another_index(reader)
        return reader

    def still_reader(self, command: str) -> AbstractContextManager[Reader]:
        """The same for a command that needs a store which holds still; in a cluster, writing is held meanwhile."""
        from weft.cli.output import say
        from weft.roles.this_node import machine_name
        from weft.roles.writing_hold import still_reader
        from weft.store.open import is_cluster

        settings = self.load().settings
        if not is_cluster(settings):
            return self.reader()
        holder = f"`weft {command}` on machine {machine_name(settings)} (pid {os.getpid()})"
        return still_reader(settings, self.home.require(), holder, partial(say, err=True))

    def _refuse_another_index(self, reader: Reader) -> None:
        """An empty index on a machine that only fetches would answer that nothing is known."""
        from weft.errors import MgmtError, NotKnown
        from weft.mgmt.open import is_embedded, open_mgmt_to_read

        settings = self.load().settings
        if is_embedded(settings):
            return
        try:
            with closing(open_mgmt_to_read(settings, self.home)) as mgmt:
                recorded = mgmt.index_store()
        except MgmtError:
            return  # what is here can be asked at any moment
        if recorded is not None and recorded.id != reader.id:
            reader.close()
            raise NotKnown(f"the index of this control plane is in {recorded.where} (machine:home); ask there")

    def index(self) -> HomeIndex:
        """The answers of an existing home."""
        from weft.answers.home_index import HomeIndex
        from weft.mgmt.open import open_mgmt_to_read
        from weft.roles.run_token import with_run_token
        from weft.search.open import open_shards
        from weft.store.timeline import source_of

        home, settings, reader = self.home.require(), self.load().settings, self.reader()
        return HomeIndex(
            reader,
            rules_of(settings),
            lambda: with_run_token(settings, home.path),
            lambda: open_mgmt_to_read(settings, home),
            lambda: open_shards(settings, home, source_of(reader), lambda: open_mgmt_to_read(settings, home)),
            lambda: records_of(settings, home),
        )

    def writer(self) -> AbstractContextManager[Store]:
        """The store of an existing home, as its one writer."""
        from weft.dispatcher.domain_work import listed_cells
        from weft.roles.index_ownership import index_writer

        return index_writer(self.load().settings, self.home_to_write(), listed_cells)

    def prepare_store(self, *, may_stand_by: bool) -> None:
        """Make an embedded store if there is none. Raises an error that says who is writing it.

        In a cluster it must be there, and may be another's if this process `may_stand_by`.
        """
        from weft.store.open import is_cluster

        if may_stand_by and is_cluster(self.load().settings):
            self.reader().close()
            return
        with self.writer():
            pass


def _take_home(context: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        context.ensure_object(Invocation).home_flag = value


def _take_sets(context: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
    context.ensure_object(Invocation).sets += values


def _complete_setting(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from weft.config import KEYS

    return [f"{name}=" for name in KEYS if name.startswith(incomplete)]


def shared_options() -> list[click.Parameter]:
    """Options that mean the same before and after a command's name."""
    return [
        click.Option(
            ["--home"],
            type=click.Path(path_type=Path),
            metavar="DIR",
            callback=_take_home,
            expose_value=False,
            help=f"Directory with all data (default: WEFT_HOME, or ./{DEFAULT_HOME}).",
        ),
        click.Option(
            ["--set", "sets"],
            multiple=True,
            metavar="SECTION.KEY=VALUE",
            callback=_take_sets,
            expose_value=False,
            shell_complete=_complete_setting,
            help="Override a setting for this run.",
        ),
    ]


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command: its docstring is its help, and it takes the shared options too."""

    def declare(function: Callable[..., Any]) -> click.Command:
        made = click.command(name, context_settings={"show_default": True})(function)
        made.params += shared_options()
        return made

    return declare


def records_of(settings: Settings, home: Home) -> RecordSource:
    """The archived records of a home."""
    from weft.index.record_access import RecordSource

    return RecordSource.from_settings(settings, home.path)


def rules_of(settings: Settings) -> UrlRules:
    from weft.model.url import UrlRules

    return UrlRules(settings.url.strip, settings.url.max_length)


class NumberRange(click.FloatRange):
    """A range of numbers, in which NaN is not, though it is neither below nor above."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{number} is not in the range {self._describe_range()}.", param, ctx)
        return number


AGO = NumberRange(min=0, max=100 * 366 * 86_400)
"""Seconds that may have passed since a fetch."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
