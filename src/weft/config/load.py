"""Loading Settings: weft.toml, then the environment, then flags; the later source wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from weft.config.given import DEFAULT, Given
from weft.config.settings import KEYS, Settings, settings_with
from weft.config.text_sources import from_environment, from_flags
from weft.config.together import check_together
from weft.config.toml_file import from_file


@dataclass(frozen=True, slots=True)
class Loaded:
    """`origins` tells for every `section.key`: default, weft.toml, a variable's name or --set."""

    settings: Settings
    origins: Mapping[str, str]


def load(home: Path | None, environ: Mapping[str, str], flags: Sequence[str]) -> Loaded:
    """Read all three sources; raises SettingsError for the first value that cannot stand, overridden or not."""
    sources = chain(from_file(home) if home else (), from_environment(environ), from_flags(flags))
    winners: dict[str, Given] = {given.key.name: given for given in sources}
    settings = settings_with({name: given.value for name, given in winners.items()})
    check_together(settings, {name: winners[name].place if name in winners else DEFAULT for name in KEYS})
    origins = {name: winners[name].origin if name in winners else DEFAULT for name in KEYS}
    return Loaded(settings, MappingProxyType(origins))
