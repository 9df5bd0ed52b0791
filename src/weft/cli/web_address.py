"""Where the web app of a run is, and when people are told."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from weft.config import host_and_port
from weft.config.load import DEFAULT
from weft.errors import UsageError
from weft.mgmt.open import is_embedded
from weft.roles.listener import is_loopback, is_unspecified, joined
from weft.roles.this_node import machine_name

if TYPE_CHECKING:
    from weft.cli.invocation import Invocation
    from weft.config import Settings
    from weft.home import Home
    from weft.supervisor.reserved_ports import ReservedPorts


class WebAddress:
    """`listen` is empty where the web app does not run; `node` is its name among all nodes."""

    def __init__(self, listen: str, settings: Settings, home: Home) -> None:
        self.listen, self._settings, self._home = listen, settings.web, home
        self.node = web_node_address(settings, host_and_port(listen)) if listen else ""
        self._is_told = False

    @classmethod
    def reserved(cls, invocation: Invocation, ports: ReservedPorts) -> WebAddress:
        """The address that the settings name. Where that is the default and taken, any other port will do."""
        loaded = invocation.load()
        settings = loaded.settings.web
        if not settings.serve:
            return cls("", loaded.settings, invocation.home)
        host, port = host_and_port(settings.listen)
        try:
            number = ports.reserve(host, port)
        except OSError as error:
            if loaded.origins["web.listen"] != DEFAULT:
                where = f"web.listen: cannot listen on {settings.listen}"
                raise UsageError(f"{where}: {error.strerror}; expected a free port, or --no-web") from error
            number = ports.reserve(host, 0)
        return cls(joined(host, number), loaded.settings, invocation.home)

    def has_begun(self) -> bool:
        """Whether it answers now and did not before; true once."""
        if self._is_told or not self.listen:
            return False
        host, port = host_and_port(self.listen)
        try:
            socket.create_connection((_reached(host), port), timeout=0.2).close()
        except OSError:
            return False
        self._is_told = True
        return True

    def lines(self, *, is_endless: bool) -> list[str]:
        """What people are told; for a run that goes on, with a link that logs in one browser."""
        from weft.actions.web_login import login_url, new_login_code

        host, port = host_and_port(self.listen)
        lines = [f"Web app: http://{joined(_reached(host), port)}/"]
        if is_endless:
            login = login_url(self._settings, new_login_code(self._home), port)
            lines.append(f"Log in:  {login} (works once, for an hour)")
        return lines


def web_node_address(settings: Settings, listen: tuple[str, int]) -> str:
    """The name of a web app among all nodes: where it listens, unless other machines have the same address."""
    host, port = listen
    if is_unspecified(host) or (is_loopback(host) and not is_embedded(settings)):
        return joined(machine_name(settings), port)
    return joined(host, port)


def _reached(host: str) -> str:
    if not is_unspecified(host):
        return host
    return "::1" if ":" in host else "127.0.0.1"
