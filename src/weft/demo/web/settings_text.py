"""The settings with which weft crawls a synthetic web."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from weft.demo.web.answering.web import extra_sites
from weft.demo.web.definition.world import World
from weft.errors import UsageError

MARK: Final = "# Settings for a synthetic web of `weft demo serve`; written anew each time it is served.\n"


def settings_text(world: World, ca_file: Path | None = None) -> str:
    """TOML: addresses of all names, loopback allowed, the ports allowed, certificates trusted."""
    plan = world.plan
    ports = [80, 443, *(port for port in (plan.port, plan.tls_port) if port not in (0, 80, 443))]
    addresses = {host.name: host.address for host in world.all_hosts()}
    addresses |= {site.name: site.address for site in extra_sites(plan).values()}
    hosts = "".join(f'"{name}" = "{address}"\n' for name, address in addresses.items())
    trusted = f'\n[spider]\nca_file = "{ca_file}"\n' if ca_file else ""
    allowed = f'[urlserver]\nallow_net = ["127.0.0.0/8"]\nallow_ports = {ports}\n'
    return f"{MARK}\n{allowed}\n[urlserver.static_hosts]\n{hosts}{trusted}"


def write_settings(text: str, file: Path) -> None:
    """Write the text to `file`, but over nothing that somebody else wrote."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() and not file.read_text(encoding="utf-8").startswith(MARK):
            raise UsageError(f"{file} holds other settings; expected a new file, or one that was written here before")
        aside = file.with_name(f"{file.name}.{os.getpid()}.new")
        aside.write_text(text, encoding="utf-8")
        aside.replace(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be written: {error}") from error
