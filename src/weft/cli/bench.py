"""`weft bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from weft.cli.invocation import command
from weft.errors import UsageError

# Benchmarks compare with tools that users of weft need not install: they live in the source checkout.
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def _files() -> dict[str, Path]:
    """Benchmarks by name; `html_bench.py` is called html, a name that only Python's own module may have as a file."""
    files = sorted(file for file in BENCHMARKS.glob("*.py") if "def main" in file.read_text())
    return {file.stem.removesuffix("_bench"): file for file in files}


def _names() -> list[str]:
    return sorted(_files())


@command("bench")
@click.argument("name", shell_complete=lambda _, __, begun: [name for name in _names() if name.startswith(begun)])
@click.option("--quick", is_flag=True, help="A small run that only shows that it works.")
@click.option("--long", "long", is_flag=True, help="The largest run, for benchmarks that have one.")
@click.pass_context
def run(context: click.Context, name: str, quick: bool, long: bool) -> None:
    """Run the benchmark NAME and print its table of ratios."""
    if not _names():
        raise UsageError("benchmarks need a source checkout of weft; this is an installed package")
    if name not in _names():
        raise UsageError(f"no benchmark is called {name!r}; expected one of: {', '.join(_names())}")
    file = _files()[name]
    if long and (quick or '"--long"' not in file.read_text()):
        raise UsageError(f"benchmark {name} has no long run" if not quick else "--quick and --long exclude each other")
    command = [sys.executable, str(file), *(["--quick"] if quick else []), *(["--long"] if long else [])]
    context.exit(_run(command))


def _run(command: list[str]) -> int:
    process = subprocess.Popen(command)  # noqa: S603 - a file of our own checkout
    try:
        return process.wait()
    except KeyboardInterrupt:
        # The terminal interrupted it too; it ends silently.
        process.kill()
        process.wait()
        raise
