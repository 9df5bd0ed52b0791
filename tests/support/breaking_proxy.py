"""A way to PostgreSQL that breaks at a chosen moment of a COMMIT."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class BreakingProxy:
    """Listens on a socket in `directory`.

    `break_next` is "before" or "after": whether the server gets to see the COMMIT whose answer never arrives.
    """

    def __init__(self, url: str, directory: Path) -> None:
        query = parse_qs(urlsplit(url).query)
        self._target = f"{query['host'][0]}/.s.PGSQL.5432"
        self.url = url.replace(query["host"][0], str(directory))
        self.break_next = ""
        self.broken = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(directory / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._target)
                except OSError:
                    client.close()  # the server is being restarted
                    continue
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self.break_next and b"COMMIT" in data:
                    self._break(client, server, data)
                    return
                server.sendall(data)
        _close(client, server)

    def _break(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        how, self.break_next = self.break_next, ""
        self.broken += 1
        client.shutdown(socket.SHUT_RDWR)
        if how == "after":
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
        _close(client, server)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
