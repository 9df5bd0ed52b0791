"""`weft token`: who may change something through the web app."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command, shared_options
from weft.cli.output import say, say_json, say_table
from weft.clock import SystemClock

if TYPE_CHECKING:
    from weft.mgmt.values import WebToken


@click.group("token", params=shared_options(), subcommand_metavar="create | list | revoke | login")
def run() -> None:
    """Manage the tokens with which programs change something through the web app, and log in with a browser."""


@command("create")
@click.option("--name", default="", metavar="TEXT", help="What the token is for, as `weft token list` shows it.")
@as_json
@click.pass_obj
def create(invocation: Invocation, name: str, as_json: bool) -> None:
    """Make a token and print it. It is shown only now: weft keeps a hash of it."""
    from weft.actions.web_tokens import create_token

    with control_plane(invocation) as mgmt:
        made = create_token(mgmt, name, SystemClock().now())
    if as_json:
        say_json(msgspec.json.encode({"text": made.text, **_told(made.token)}))
        return
    say(made.text)
    say(f"weft: this is shown only now; `weft token revoke {made.token.id}` ends it", err=True)


@command("list")
@as_json
@click.pass_obj
def list_(invocation: Invocation, as_json: bool) -> None:
    """List the tokens that work, the oldest first."""
    from weft.actions.web_tokens import list_tokens

    with control_plane(invocation, to_read=True) as mgmt:
        tokens = list(map(_told, list_tokens(mgmt)))
    if as_json:
        say_json(msgspec.json.encode({"count": len(tokens), "items": tokens}))
        return
    say_table(("id", "name", "created", "last used"), [tuple(value or "-" for value in one.values()) for one in tokens])


@command("revoke")
@click.argument("id_", metavar="ID")
@as_json
@click.pass_obj
def revoke(invocation: Invocation, id_: str, as_json: bool) -> None:
    """End a token: requests with it are refused from now on."""
    from weft.actions.web_tokens import revoke_token

    with control_plane(invocation) as mgmt:
        token = revoke_token(mgmt, id_)
    if as_json:
        say_json(msgspec.json.encode(_told(token)))
    else:
        say(f"Revoked {token.id}{f' ({token.name})' if token.name else ''}.")


@command("login")
@as_json
@click.pass_obj
def login(invocation: Invocation, as_json: bool) -> None:
    """Print a URL that logs in one browser. It works once, within an hour; URLs from before work no more."""
    from weft.actions.web_login import LOGIN_SECONDS, login_url, new_login_code

    web = invocation.load().settings.web
    login_url(web, "")  # raises before anything is made
    url = login_url(web, new_login_code(invocation.home_to_write()))
    if as_json:
        say_json(msgspec.json.encode({"url": url, "seconds": LOGIN_SECONDS}))
    else:
        say(url)


for _subcommand in (create, list_, revoke, login):
    run.add_command(_subcommand)


def _told(token: WebToken) -> dict[str, str | None]:
    from weft.answers.objects import moment

    times = {"created": token.created, "used": token.used}
    whole = {name: moment(at // 1000 * 1000) if at else None for name, at in times.items()}
    return {"id": token.id, "name": token.name, **whole}
