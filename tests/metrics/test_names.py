"""What a role tells can be told from what a home tells by its name alone, as docs/metrics.md uses it."""

from __future__ import annotations

import re
from pathlib import Path

from weft.metrics.home_catalogue import HOME_METRICS
from weft.metrics.role_catalogue import EVERY_ROLE, ROLE_METRICS
from weft.mgmt.values import NodeType

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_the_rule_that_drops_the_second_copy_drops_what_roles_tell_and_nothing_else() -> None:
    rule = re.compile(PAGE.partition("regex: ")[2].partition("\n")[0])
    assert "(?" not in rule.pattern, "Prometheus does not know that"
    served = {node: some for node, some in ROLE_METRICS.items() if node is not NodeType.WEB_APP}
    of_roles = [told.metric.name for some in (EVERY_ROLE, *served.values()) for told in some]
    assert [name for name in of_roles if not rule.fullmatch(name)] == []
    # The web app tells of itself only where it tells of all others.
    told_once = [*HOME_METRICS, *(told.metric for told in ROLE_METRICS[NodeType.WEB_APP])]
    assert [metric.name for metric in told_once if rule.fullmatch(metric.name)] == []
