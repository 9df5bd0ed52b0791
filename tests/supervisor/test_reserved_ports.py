"""Ports of a run: its roles can listen on them, again and again, and other users cannot."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from weft.errors import UsageError
from weft.roles.listener import open_listener
from weft.supervisor.reserved_ports import ReservedPorts

NOBODY = 65534


def refusal_for_another_user(host: str, port: int) -> int:
    """What the system says, as an error number, to another user who wants to listen there; 0: nothing."""
    child = os.fork()
    if child == 0:
        try:
            os.setuid(NOBODY)
            one = socket.socket()
            for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
                one.setsockopt(socket.SOL_SOCKET, option, 1)
            one.bind((host, port))
            one.listen()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_ports_differ_and_nobody_answers_there() -> None:
    with ReservedPorts(3) as ports:
        assert len(set(ports.numbers)) == 3
        for number in ports.numbers:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", number), 5)


def test_a_role_can_listen_there_and_again_after_it_died() -> None:
    with ReservedPorts(1) as ports:
        for _ in range(3):
            with (
                open_listener("spider.listen", "127.0.0.1", ports.numbers[0], "t", is_reserved=True) as listener,
                socket.create_connection(("127.0.0.1", ports.numbers[0]), 5),
            ):
                listener.accept()[0].close()


def test_others_are_refused_even_while_no_role_listens() -> None:
    with ReservedPorts(1) as ports, pytest.raises(UsageError, match="Address already in use"):
        open_listener("spider.listen", "127.0.0.1", ports.numbers[0], "t")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("is_listening", [False, True])
def test_another_user_cannot_share_the_port(host: str, is_listening: bool) -> None:
    with ReservedPorts(1) as ports:
        number = ports.numbers[0]
        listener = open_listener("spider.listen", "127.0.0.1", number, "t", is_reserved=True) if is_listening else None
        assert refusal_for_another_user(host, number) == errno.EADDRINUSE
        if listener is not None:
            listener.close()
    assert refusal_for_another_user(host, number) == 0, "afterwards it is anybody's"
