"""Entry point of the command line: imports only the command that runs, and prints an error as one sentence."""

from __future__ import annotations

import errno
import io
import os
import re
import resource
import select
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, TextIO

import click

from weft import __version__, failpoints
from weft.cli.invocation import shared_options
from weft.cli.output import say, say_lines
from weft.errors import FULL_DISK, WeftError, is_disk_full, why_unwritable
from weft.model.similar import did_you_mean

# name: (module, function in it, one line for `weft --help`). A module is imported only when its command runs.
COMMANDS = {
    "demo": ("weft.cli.demo", "run", "Show what weft does, offline."),
    "init": ("weft.cli.init", "run", "Create a home: the directory for all data."),
    "add": ("weft.cli.add", "add", "Add seeds: URLs where a crawl starts."),
    "sites": ("weft.cli.sites", "sites", "List and change the sites that may be crawled."),
    "crawl": ("weft.cli.crawl", "crawl", "Crawl from URLs until everything in scope is fetched."),
    "up": ("weft.cli.crawl", "up", "Crawl continuously."),
    "stop": ("weft.cli.stop", "run", "Stop the weft that uses this home."),
    "run": ("weft.cli.run", "run", "Run a single weft process, such as a spider."),
    "status": ("weft.cli.status", "run", "Show how the crawl is doing."),
    "nodes": ("weft.cli.nodes", "nodes", "List weft's processes; pause or drain one."),
    "token": ("weft.cli.token", "run", "Manage who may change something through the web app."),
    "retry": ("weft.cli.nodes", "retry", "Retry crawled chunks that could not be indexed."),
    "restore": ("weft.cli.restore", "run", "Put back a copy of a damaged control plane."),
    "why": ("weft.cli.why", "why", "Explain why a URL was or was not fetched."),
    "segment": ("weft.cli.why", "segment", "Show which links of a domain are crawled next."),
    "rules": ("weft.cli.rules", "run", "Show which query parameters weft ignores, and why."),
    "import": ("weft.cli.import_pages", "run", "Load pages from WARC, WAT and JSONL files."),
    "search": ("weft.cli.search", "run", "Find pages by their words."),
    "top": ("weft.cli.questions", "top", "List the most linked pages."),
    "links": ("weft.cli.questions", "links", "List the pages that link to a page."),
    "page": ("weft.cli.questions", "page", "Show what is known about a page."),
    "domain": ("weft.cli.domain", "run", "Show what is known about a domain."),
    "domains": ("weft.cli.questions", "domains", "List the domains in the index, largest first."),
    "changes": ("weft.cli.questions", "changes", "List new, lost and changed links."),
    "export": ("weft.cli.export", "run", "Export links, pages or domains to a file."),
    "url": ("weft.cli.url", "run", "Show how weft normalises a URL."),
    "robots": ("weft.cli.robots", "run", "Test URLs against a robots.txt file."),
    "schema": ("weft.cli.schema", "run", "Print the SQL schema of the control plane."),
    "scan": ("weft.cli.scan", "run", "Print the stored cells of a table."),
    "archive": ("weft.cli.archive", "run", "Drop captures that need not be kept."),
    "verify": ("weft.cli.verify", "verify", "Recompute all counts from the pages and compare."),
    "rebuild": ("weft.cli.verify", "rebuild", "Recompute all counts and correct differences."),
    "migrate": ("weft.cli.migrate", "run", "Copy the index to another engine."),
    "digest": ("weft.cli.verify", "digest", "Print one hash of the whole index."),
    "config": ("weft.cli.config", "run", "Print all settings and where each value comes from."),
    "bench": ("weft.cli.bench", "run", "Run a benchmark (source checkout only)."),
    "completion": ("weft.cli.completion", "run", "Print a shell completion script."),
}


_SUGGESTION = re.compile(r"\. Did you mean (.*)\?$")


class Weft(click.Group):
    """All commands, imported one by one when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function, _ = COMMANDS[cmd_name]
        found: click.Command = getattr(import_module(module), function)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"There is no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(cls=Weft, name="weft", params=shared_options(), context_settings={"max_content_width": 100})
@click.version_option(__version__, message="weft %(version)s")
def weft() -> None:
    """Crawl a part of the web politely and keep a live index of its pages and links."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit: 0 done, 1 the answer is no, 2 bad usage or bad input."""
    try:
        _open_closed_streams()
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Not every terminal has every character that the web has.
            sys.stdout.reconfigure(errors="backslashreplace")
        failpoints.arm(os.environ.get("WEFT_FAIL", ""))
        status = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        say_lines(error.format_message().split("\n"))
        status = 0
    except click.ClickException as error:
        status = _say(_usage_sentence(error), 2)
    except WeftError as error:
        status = _say(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        status = _say("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough.
        _discard_output()
        status = 0
    except Exception as error:
        if _is_terminal_gone(error):
            _discard_output()
            sys.exit(129)
        if isinstance(error, OSError) and _was_printing(error):
            _discard(sys.stdout)
            sys.exit(_say(f"the output cannot be written: {why_unwritable(error)}", 2))
        if isinstance(error, OSError) and (reason := _reason_outside(error)):
            sys.exit(_say(reason, 2))
        if os.environ.get("WEFT_DEBUG"):
            raise
        if isinstance(error, OSError) and is_disk_full(error):
            sys.exit(_say(": ".join(filter(None, [str(error.filename or ""), FULL_DISK])), 2))
        status = _say(
            f"unexpected {type(error).__name__}: {error} (a bug in weft; set WEFT_DEBUG=1 for the traceback)", 2
        )
    sys.exit(status)


def _run(arguments: Sequence[str]) -> int:
    if "_WEFT_COMPLETE" in os.environ:
        weft.main(prog_name="weft")
    # Not click's own main(): it exits with 1 when the output is a closed pipe.
    try:
        with weft.make_context("weft", list(arguments)) as context:
            weft.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def _say(sentence: str, status: int) -> int:
    say(f"weft: {sentence}", err=True)
    return status


def _open_closed_streams() -> None:
    """Let what is printed to a closed stream go nowhere.

    The next file that is opened, such as one of the store, would else get the number of the stream, and whatever a
    library prints would be written into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number is this one
            if name != "stdin":  # whoever reads it must be able to say that it was closed
                setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace"))


def _reason_outside(error: OSError) -> str:
    """What any call may meet and only the user can mend; empty: it is something else."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return f"too many open files: this process may have {limit} open at a time; raise that with `ulimit -n`"
    if error.errno == errno.ENOENT and error.filename is None and _is_nowhere():
        return "the current directory does not exist any more; change to another one"
    return ""


def _is_nowhere() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - asks for nothing else
    except FileNotFoundError:
        return True
    return False


def _is_terminal_gone(error: Exception) -> bool:
    if not isinstance(error, OSError) or error.errno != errno.EIO:
        return False
    looked = select.poll()
    for stream in (sys.stdout, sys.stderr):
        looked.register(stream.fileno())
    return any(event & select.POLLHUP for _, event in looked.poll(0))


def _was_printing(error: OSError) -> bool:
    """Whether it is our output that failed, as on a full disk: here, or in click, which prints our lines and helps."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__") in (__name__, click.echo.__module__)


def _discard_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        _discard(stream)


def _discard(stream: TextIO) -> None:
    """Python must not complain on exit that its output goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _usage_sentence(error: click.ClickException) -> str:
    words = " ".join(error.format_message().split())
    # click's own suggestion is a sentence of its own.
    sentence = _SUGGESTION.sub(r" (did you mean \1?)", words).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{sentence}; see `{context.command_path} --help`" if context else sentence
