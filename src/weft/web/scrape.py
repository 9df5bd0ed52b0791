"""/metrics: what Prometheus scrapes, of all nodes of this control plane."""

from __future__ import annotations

from starlette.responses import Response

from weft.metrics.collect import CONTENT_TYPE, home_metrics
from weft.web.resources import WebResources


def metrics_answer(web: WebResources) -> Response:
    settings, home = web.loaded.settings, web.home.path
    with web.borrowed() as index:
        content = web.control.read(lambda mgmt: home_metrics(mgmt, index, home, settings))
    return Response(content, headers={"Content-Type": CONTENT_TYPE, "Cache-Control": "no-store"})
