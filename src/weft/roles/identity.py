"""What all processes of one control plane must agree on: else one page would have two keys, or be counted twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from weft.config import Settings
from weft.config.text import hide_password
from weft.errors import NodeRefused
from weft.mgmt.values import StoreOwner
from weft.model.domain import suffix_list_digest
from weft.model.versions import BASES, URI_RULES
from weft.roles.this_node import machine_name

STRIP: Final = "url.strip"
COUNT: Final = "index.count"
_SUFFIXES: Final = "suffix list"


class RecordsIdentity(Protocol):
    """The calls of the control plane that are needed here."""

    def agree(self, facts: Mapping[str, str], *, replaces: bool = False) -> dict[str, str]: ...

    def own_store(self, store: StoreOwner, *, replaces: bool = False) -> StoreOwner: ...


def identity_of(settings: Settings) -> dict[str, str]:
    """What this process would make keys and counts by."""
    return {
        STRIP: " ".join(sorted({name.lower() for name in settings.url.strip})),
        "url.max_length": str(settings.url.max_length),
        COUNT: settings.index.count,
        "bases": str(BASES),
        "uri rules": str(URI_RULES),
        _SUFFIXES: suffix_list_digest(),
    }


def require_identity(mgmt: RecordsIdentity, settings: Settings) -> None:
    """Record what this process works by, or raise NodeRefused if the others work by something else."""
    ours = identity_of(settings)
    _compare(ours, mgmt.agree(ours), settings)


def compare_identity(recorded: Mapping[str, str], settings: Settings) -> None:
    """Raise NodeRefused if this process works by something else than what is recorded."""
    _compare(identity_of(settings), recorded, settings)


def _compare(ours: Mapping[str, str], recorded: Mapping[str, str], settings: Settings) -> None:
    for name, value in ours.items():
        if recorded.get(name, value) != value:
            where = f"the index of {hide_password(settings.mgmt.url)}"
            raise NodeRefused(_sentence(name, value, recorded[name], machine_name(settings), where))


def _sentence(name: str, here: str, there: str, machine: str, where: str) -> str:
    if name == STRIP:
        more, fewer = ({*one.split()} - {*other.split()} for one, other in ((here, there), (there, here)))
        what = [f"has {_listed(more)}" if more else "", f"lacks {_listed(fewer)}" if fewer else ""]
        return f"{STRIP} of machine {machine} {' and '.join(filter(None, what))}, unlike {where}; {_SAME}"
    if name == _SUFFIXES:
        return (
            f"the public suffix list of machine {machine} ({here}) differs from the one of {where} ({there}); "
            "install the same version of the package publicsuffixlist, or make a new home of the archive: "
            "`weft import --home NEW warc/*.warc.gz`"
        )
    return f"{name} is {here} on machine {machine}, but {there} for {where}; {_SAME}"


_SAME: Final = "set it to the same on all machines"


def _listed(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def require_store(mgmt: RecordsIdentity, settings: Settings, store: StoreOwner) -> None:
    """Record that this store holds the index, or raise NodeRefused if another one does."""
    recorded = mgmt.own_store(store)
    if recorded.id != store.id:
        raise NodeRefused(
            f"the store of {store.where} is not the index of {hide_password(settings.mgmt.url)} (mgmt.url), which is "
            f"that of {recorded.where}; use that one, or give this home a control plane of its own; if it is lost, "
            "`weft restore --new-index` builds it again here from the archives"
        )
