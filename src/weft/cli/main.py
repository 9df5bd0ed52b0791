"""The command line's door: finds a command without importing the others, and turns errors into one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from weft import __version__, failpoints
from weft.cli.invocation import shared_options
from weft.errors import WeftError

# name: (module, function in it, one line for `weft --help`). A module is imported only when its command runs.
COMMANDS = {
    "demo": ("weft.cli.demo", "run", "Show what weft does, with the documents' sample."),
    "init": ("weft.cli.init", "run", "Make a home for a new weft."),
    "add": ("weft.cli.add", "add", "Make URLs known and have them crawled."),
    "sites": ("weft.cli.sites", "sites", "What may be crawled, and what was said about it."),
    "crawl": ("weft.cli.crawl", "crawl", "Crawl from URLs until nothing is left that is due."),
    "up": ("weft.cli.crawl", "up", "Keep crawling what is due."),
    "run": ("weft.cli.run", "run", "Run one role of weft, such as a spider."),
    "status": ("weft.cli.status", "run", "How the crawl is doing."),
    "nodes": ("weft.cli.nodes", "nodes", "Weft's own processes."),
    "retry": ("weft.cli.nodes", "retry", "Offer chunks that could not be built again."),
    "why": ("weft.cli.why", "why", "Why a URL was or was not fetched, and when it is due."),
    "segment": ("weft.cli.why", "segment", "Which links a domain is crawled by next."),
    "rules": ("weft.cli.rules", "run", "Which query parameters do not matter, and how that is known."),
    "import": ("weft.cli.load", "run", "Load pages from files."),
    "top": ("weft.cli.ask", "top", "Which pages are referenced most, of all or of a domain."),
    "links": ("weft.cli.ask", "links", "Who references a page, with what words."),
    "page": ("weft.cli.ask", "page", "What is known of a page."),
    "domains": ("weft.cli.ask", "domains", "Which domains are known, the largest first."),
    "changes": ("weft.cli.ask", "changes", "Which references came and went."),
    "export": ("weft.cli.export", "run", "Write links, pages or domains to a file for other programs."),
    "url": ("weft.cli.url", "run", "Tell a URL's identity: uri, domain, normalised form."),
    "robots": ("weft.cli.robots", "run", "Tell what a robots.txt allows, and by which line."),
    "schema": ("weft.cli.schema", "run", "The tables of the control plane as SQL."),
    "scan": ("weft.cli.scan", "run", "Print the cells of a table."),
    "verify": ("weft.cli.check", "verify", "Compute every table anew and compare."),
    "rebuild": ("weft.cli.check", "rebuild", "Compute every table anew and put right what differs."),
    "digest": ("weft.cli.check", "digest", "One hash over all that the index says."),
    "config": ("weft.cli.config", "run", "Print the settings in force and where each came from."),
    "bench": ("weft.cli.bench", "run", "Measure weft against others (in a source checkout)."),
    "completion": ("weft.cli.completion", "run", "Print the script that completes weft's commands in a shell."),
}


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(cls=Weft, name="weft", params=shared_options(), context_settings={"max_content_width": 100})
@click.version_option(__version__, message="weft %(version)s")
def weft() -> None:
    """A live, searchable index of a piece of the web."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit: 0 done, 1 the answer is no, 2 bad usage or bad input."""
    try:
        failpoints.arm(os.environ.get("WEFT_FAIL", ""))
        status = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        status = 0
    except click.ClickException as error:
        status = _say(_usage_sentence(error), 2)
    except WeftError as error:
        status = _say(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        status = _say("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough; Python must not complain about it on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except Exception as error:
        if os.environ.get("WEFT_DEBUG"):
            raise
        status = _say(f"unexpected {type(error).__name__}: {error} (a bug in weft; WEFT_DEBUG=1 shows where)", 2)
    sys.exit(status)


def _run(arguments: Sequence[str]) -> int:
    if "_WEFT_COMPLETE" in os.environ:
        weft.main(prog_name="weft")
    # Not click's own main(): that one takes a closed pipe for the answer no.
    try:
        with weft.make_context("weft", list(arguments)) as context:
            weft.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def _say(sentence: str, status: int) -> int:
    print(f"weft: {sentence}", file=sys.stderr)
    return status


def _usage_sentence(error: click.ClickException) -> str:
    sentence = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{sentence}; see `{context.command_path} --help`" if context else sentence
