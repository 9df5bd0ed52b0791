"""The one way out of a command: every line that it prints is fit for a terminal, whatever the web put into it."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Sequence
from io import BufferedIOBase
from typing import IO, TYPE_CHECKING, cast

import click

from weft.cli.tables import aligned
from weft.cli.text_width import terminal_width
from weft.model.shown_text import shown_json, shown_text

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def say(line: str = "", *, err: bool = False, bold: bool = False, dim: bool = False) -> None:
    """Print one line; a line feed within it does not make another."""
    shown = shown_text(line)
    click.echo(click.style(shown, bold=bold or None, dim=dim or None) if bold or dim else shown, err=err)


def say_marked(begin: str, text: str, marks: Sequence[tuple[int, int]], *, bold: bool = False) -> None:
    """Print one line in which some ranges of `text` stand out."""
    pieces, at = [click.style(begin, dim=True)], 0
    for start, end in marks:
        pieces.append(_styled(text[at:start], bold=bold))
        pieces.append(_styled(text[start:end], bold=True, colour="yellow"))
        at = end
    click.echo("".join([*pieces, _styled(text[at:], bold=bold)]))


def _styled(text: str, *, bold: bool, colour: str | None = None) -> str:
    return click.style(shown_text(text), bold=bold or None, fg=colour) if text else ""


def say_fact(name: str, value: object) -> None:
    """Print a line that begins with a name in bold."""
    click.echo(f"{click.style(shown_text(name), bold=True)} {shown_text(str(value))}")


def say_lines(lines: Iterable[str], *, err: bool = False) -> None:
    for line in lines:
        say(line, err=err)


def say_table(header: Sequence[str], rows: Sequence[Sequence[str]], widest: int = 80, *, is_cut: bool = True) -> None:
    """Print a table that fits the terminal; in a file, or without `is_cut`, everything is whole."""
    for number, line in enumerate(aligned(header, rows, widest, terminal_width() if is_cut else None)):
        say(line, bold=number == 0)


class TerminalBytes(BufferedIOBase):
    """Lines of UTF-8 on their way to a terminal: what it would obey is shown as its escape."""

    def __init__(self, terminal: IO[bytes], shown: Callable[[str], str]) -> None:
        self._terminal, self._shown = terminal, shown
        self._decoder = getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: ReadableBuffer, /) -> int:
        text = self._decoder.decode(bytes(data))
        self._terminal.write("\n".join(self._shown(line.removesuffix("\r")) for line in text.split("\n")).encode())
        return len(bytes(data))

    def flush(self) -> None:
        self._terminal.flush()


def data_output(*, is_json: bool) -> IO[bytes]:
    """Standard output for data: to a file or another program every byte as it is, to a terminal fit for it."""
    if not sys.stdout.isatty():
        return sys.stdout.buffer
    return cast("IO[bytes]", TerminalBytes(sys.stdout.buffer, shown_json if is_json else shown_text))


def say_json(encoded: str | bytes, *, err: bool = False) -> None:
    """Print JSON for programs; people may look at it too."""
    click.echo(shown_json(encoded if isinstance(encoded, str) else encoded.decode()), err=err)
