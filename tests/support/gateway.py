"""The way to a port of another machine, which a test can cut in the two ways that networks do."""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import suppress

from support.free_ports import free_port

_RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: closing sends a reset."""


class Gateway:
    """Listens at a port of its own on the target's address and passes everything on, until it is cut."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target, self._port = target, 0
        self._may_pass = threading.Event()
        self._connections: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.open()

    @property
    def address(self) -> str:
        return f"{self._target[0]}:{self._port}"

    def open(self) -> None:
        """As a working network: what was held back is passed on now."""
        if self._listener is None:
            # Not one that the system chooses: while connections are refused, it would give that to others.
            self._port = self._port or free_port(self._target[0])
            self._listener = socket.create_server((self._target[0], self._port), backlog=1)
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        self._may_pass.set()

    def refuse(self) -> None:
        """As a machine whose process is gone: connections are reset, new ones refused."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # ends the thread that accepts
            listener.close()
        for one in list(self._connections):
            with suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                one.shutdown(socket.SHUT_RD)  # wakes whoever reads from it, and he closes it
        self._may_pass.set()

    def go_silent(self) -> None:
        """As a machine without power, or a cut cable: nothing arrives, and nobody is told."""
        self._may_pass.clear()

    def close(self) -> None:
        self.refuse()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                # Beyond a short queue the kernel drops requests to connect, as a black hole does.
                self._may_pass.wait()
                client, _ = listener.accept()
                self._join(client)

    def _join(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._target, timeout=5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        self._connections |= {client, server}
        with suppress(OSError), client, server:
            while self._step(client, server):
                pass
        self._connections -= {client, server}

    def _step(self, client: socket.socket, server: socket.socket) -> bool:
        """Pass on what has come; False: one of them hung up."""
        for source in select.select([client, server], [], [])[0]:
            self._may_pass.wait()  # the end of a connection is a packet, too
            data = source.recv(65536)
            if not data:
                return False
            (server if source is client else client).sendall(data)
        return True
