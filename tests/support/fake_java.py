"""Stands in for Java where a test is about processes and not about Cassandra: listens and logs as a node does."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import time
from pathlib import Path


def make_home(place: Path) -> Path:
    """A JAVA_HOME with this program as its java."""
    java = place / "java-home/bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "$@"\n')
    java.chmod(0o755)
    return java.parents[1]


def _run(options: dict[str, str]) -> None:
    yaml = Path(options["-Dcassandra.config"].removeprefix("file://")).read_text()
    address = re.findall(r"^rpc_address: (\S+)", yaml, re.MULTILINE)[0]
    ports = map(int, re.findall(r"^(?:storage|native_transport)_port: (\d+)", yaml, re.MULTILINE))
    listening = [socket.create_server((address, port)) for port in ports]
    seeds = re.findall(r"127[\d.]+:7000", yaml)
    while listening:
        # Again and again: what was told before a peer was started does not count.
        with Path(options["-Dweft.log"]).open("a") as log:
            log.writelines(f"INFO InetAddress /{seed} is now UP\n" for seed in seeds)
        time.sleep(0.5)


if __name__ == "__main__":
    if "-version" in sys.argv:
        print(f'openjdk version "{os.environ.get("FAKE_JAVA_VERSION", "17.0.1")}"', file=sys.stderr)
        sys.exit()
    if "FAKE_JAVA_FAILS" in os.environ:
        sys.exit(os.environ["FAKE_JAVA_FAILS"])
    if "FAKE_JAVA_IS_STUBBORN" in os.environ:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _run(dict(argument.split("=", 1) for argument in sys.argv if argument.startswith("-D") and "=" in argument))
