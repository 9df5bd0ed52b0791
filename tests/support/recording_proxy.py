"""A machine in the middle: hands everything on as it is, and keeps a copy."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class RecordingProxy:
    """Listens at `host`; close it."""

    def __init__(self, host: str, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server((host, 0))
        self.address = f"{host}:{self._listener.getsockname()[1]}"
        self.recorded = bytearray()
        """All bytes of both directions."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._join(client)

    def _join(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        for here, there in ((client, server), (server, client)):
            threading.Thread(target=self._hand_on, args=(here, there), daemon=True).start()

    def _hand_on(self, here: socket.socket, there: socket.socket) -> None:
        with suppress(OSError):
            while data := here.recv(65536):
                self.recorded += data
                there.sendall(data)
        for one in (here, there):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
