"""`weft run web`: the web app and its API, wired from the settings."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import Invocation, command
from weft.cli.output import say

if TYPE_CHECKING:
    from weft.mgmt.api import WebAppCalls
    from weft.web.node import Waits, WebNode
    from weft.web.resources import WebResources


@command("web")
@click.pass_obj
def run(invocation: Invocation) -> None:
    """Serve the web app and its API. It only reads the index; changes need a token or a login.

    Prints its address when it is ready.
    """
    from weft.cli.web_address import web_node_address
    from weft.config import host_and_port
    from weft.roles.listener import address_of, listen_on
    from weft.roles.log_output import begin_logging
    from weft.roles.memory_return import return_memory
    from weft.roles.stop import run_role
    from weft.roles.supervisor_pipe import has_supervisor
    from weft.web.serving import serve

    invocation.home_to_write()
    begin_logging()
    return_memory()
    settings = invocation.load().settings
    host, port = host_and_port(settings.web.listen)
    with listen_on("web.listen", host, port, is_reserved=has_supervisor(os.environ)) as listener:
        web = web_resources(invocation)
        node = web_node(web, web_node_address(settings, listener.getsockname()[:2]))
        try:
            # Light questions must not wait for heavy ones, which have the interpreter for as long as this otherwise.
            sys.setswitchinterval(0.0005)
            ready = partial(say, f"web app at http://{address_of(listener)}/")
            run_role(lambda stop: serve(web, listener, stop, ready, node=node))
        finally:
            web.close()


def web_resources(invocation: Invocation) -> WebResources:
    from weft.mgmt.open import mgmt_identity, open_mgmt, open_mgmt_to_read
    from weft.roles.supervisor_pipe import has_supervisor
    from weft.web.control_desk import ControlDesk
    from weft.web.fresh_index import FreshIndex
    from weft.web.resources import WebResources
    from weft.web.sessions import Sessions

    home, loaded = invocation.home.require(), invocation.load()
    settings = loaded.settings
    control = ControlDesk(
        lambda: open_mgmt_to_read(settings, home),
        lambda: open_mgmt(settings, home),
        lambda: mgmt_identity(settings, home),
        home.path,
        settings,
    )
    sessions = Sessions(settings.web.session_hours * 3600)
    return WebResources(loaded, home, FreshIndex(invocation.index), control, sessions, has_supervisor(os.environ))


def web_node(web: WebResources, address: str, waits: Waits | None = None) -> WebNode:
    """What makes the control plane know of the app."""
    from dataclasses import replace

    import msgspec

    from weft import __version__
    from weft.mgmt.open import mgmt_identity, open_existing_mgmt
    from weft.mgmt.values import NodeType
    from weft.roles.calls import ControlPlane
    from weft.roles.late_mgmt import LateMgmt
    from weft.roles.lease import LeaseKeeper
    from weft.roles.this_node import about_this_node
    from weft.web.node import WebNode

    settings, home = web.loaded.settings, web.home
    # It has a patience of its own, and says once that it waits.
    own = replace(settings, mgmt=replace(settings.mgmt, patience=0.0))
    mgmt: WebAppCalls = LateMgmt(lambda: open_existing_mgmt(own, home), lambda: mgmt_identity(own, home))
    control = ControlPlane(mgmt, is_patient=False)
    # Without its token: no other node talks to it, so none should be refused because the tokens differ.
    about = msgspec.structs.replace(about_this_node(settings, __version__), token="")
    keeper = LeaseKeeper(control, NodeType.WEB_APP, address, settings.mgmt, about=about, may_pause=False)
    return WebNode(control, keeper, is_supervised=web.is_supervised, waits=waits)
