"""Listening on several addresses with one port."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable
from dataclasses import replace

from weft.demo.web.definition.plan import WebPlan
from weft.errors import WeftError

_TRIES = 50
BACKLOG = 4_096


class PortTaken(WeftError):  # noqa: N818 - a state of the machine
    """Somebody else listens there."""


def listen(addresses: Iterable[str], port: int) -> tuple[list[socket.socket], int]:
    """A socket on each address, all with one port; port 0 finds one that is free on all of them."""
    wanted = list(addresses)
    for _ in range(1 if port else _TRIES):
        sockets: list[socket.socket] = []
        try:
            chosen = port
            for address in wanted:
                sockets.append(_bound(address, chosen))
                chosen = sockets[0].getsockname()[1]
        except OSError as error:
            for opened in sockets:
                opened.close()
            if port or error.errno != errno.EADDRINUSE:
                raise PortTaken(f"{address}:{chosen} cannot be listened on: {error.strerror}") from error
        else:
            return sockets, chosen
    raise PortTaken(f"no port is free on all of {wanted[0]} to {wanted[-1]}; expected one within {_TRIES} tries")


def _bound(address: str, port: int) -> socket.socket:
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def listen_for(plan: WebPlan) -> tuple[list[socket.socket], list[socket.socket], WebPlan]:
    """Sockets for http and for https, and the plan with the ports that they have."""
    addresses = [plan.address(number) for number in range(plan.addresses)]
    plain, port = listen(addresses, plan.port)
    if not plan.tls:
        return plain, [], replace(plan, port=port)
    try:
        secure, tls_port = listen(addresses, plan.tls_port)
    except PortTaken:
        for opened in plain:
            opened.close()
        raise
    return plain, secure, replace(plan, port=port, tls_port=tls_port)
