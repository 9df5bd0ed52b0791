"""Draws what `tests/scenarios/test_long_life.py` measured: python tests/tools/life_chart.py REPORT.json CHART.svg"""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

MB: Final = 1 << 20
_COLOURS: Final = ("#2f6db3", "#b3552f", "#3c8a5a", "#7d4fa3", "#9a7b1c", "#444444", "#c0447a")
_WIDTH, _HEIGHT, _COLUMNS = 430, 190, 2
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 112, 34, 26


class Panel(NamedTuple):
    title: str
    lines: dict[str, str]
    """What each line is called, by what was measured."""
    unit: float = 1


def _named(kind: str, *names: str) -> dict[str, str]:
    return {f"{kind}: {name}": name for name in names}


PANELS: Final = (
    Panel(
        "Memory of each process, MB",
        _named("memory", "indexserver", "web", "index", "spider", "up", "urlserver"),
        MB,
    ),
    Panel(
        "File descriptors of each process",
        _named("descriptors", "indexserver", "web", "index", "spider", "up", "urlserver"),
    ),
    Panel("Files, MB", _named("bytes", "mgmt.db-wal", "store", "mgmt.db", "backup", "search", "logs"), MB),
    Panel("Cells of the store", _named("cells", "changes", "query", "links", "fluo", "docs", "feed", "meta")),
    Panel("Rows of the control plane", _named("rows", "link", "host", "robots", "tally", "pending_host")),
    Panel("Kept of every fetch", {"fetches": "fetches", "rows: chunk": "chunks", "known URLs": "URLs"}),
)

Samples = list[dict[str, float]]


def chart(samples: Samples, done: dict[str, int], calm: float) -> str:
    """`calm`: from this day on there was no trouble."""
    rows = -(-len(PANELS) // _COLUMNS)
    width, height = _WIDTH * _COLUMNS, _HEIGHT * rows + 44
    days = samples[-1]["day"]
    trouble = ", ".join(f"{number} × {name}" for name, number in sorted(done.items()) if name != "asked")
    trouble += f"; no trouble from day {calm:.0f} on (shaded)" if calm < days else ""
    places = [(number % _COLUMNS * _WIDTH, number // _COLUMNS * _HEIGHT + 40) for number in range(len(PANELS))]
    drawn = [
        f'<g transform="translate({x} {y})">{_panel(panel, samples, calm)}</g>'
        for panel, (x, y) in zip(PANELS, places, strict=True)
    ]
    title = f"{days:.0f} simulated days of weft up, {samples[-1]['fetches']:,.0f} fetches"
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif"
  font-size="11" role="img" aria-labelledby="title">
<title id="title">{title}: what grows, and what does not</title>
<rect width="{width}" height="{height}" fill="#fff"/>
<text x="12" y="18" font-size="14" font-weight="600">{title}</text>
<text x="12" y="34" fill="#555">{escape(trouble)}</text>
{chr(10).join(drawn)}
</svg>
"""


def _panel(panel: Panel, samples: Samples, calm: float) -> str:
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    days = samples[-1]["day"]
    found = {name: [sample.get(name, 0.0) / panel.unit for sample in samples] for name in panel.lines}
    most = max(max(values) for values in found.values()) * 1.05 or 1.0
    parts = [f'<text x="{_LEFT}" y="{_TOP - 10}" font-weight="600">{escape(panel.title)}</text>']
    shade = wide * max(0.0, 1 - calm / days)
    parts.append(
        f'<rect x="{_LEFT + wide - shade:.0f}" y="{_TOP}" width="{shade:.0f}" height="{high}" fill="#f1f4f7"/>'
    )
    for step in range(3):
        y, value = _TOP + high - high * step / 2, most * step / 2
        parts.append(f'<path d="M{_LEFT} {y:.0f}h{wide}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 4:.0f}" text-anchor="end" fill="#555">{_short(value)}</text>')
    parts.append(f'<text x="{_LEFT}" y="{_TOP + high + 16}" fill="#555">day 0</text>')
    parts.append(f'<text x="{_LEFT + wide}" y="{_TOP + high + 16}" text-anchor="end" fill="#555">{days:.0f}</text>')
    below = 0.0
    ends = sorted(found, key=lambda name: -found[name][-1])
    for name, colour in zip(ends, _COLOURS, strict=False):
        values = found[name]
        places = [
            f"{_LEFT + wide * sample['day'] / days:.1f},{_TOP + high - high * value / most:.1f}"
            for sample, value in zip(samples, values, strict=True)
        ]
        parts.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        below = max(below + 12, _TOP + high - high * values[-1] / most + 4, _TOP + 4)
        words = f"{escape(panel.lines[name])} {_short(values[-1])}"
        parts.append(f'<text x="{_LEFT + wide + 6}" y="{below:.0f}" fill="{colour}">{words}</text>')
    return "\n".join(parts)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


if __name__ == "__main__":
    report = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(chart(report["samples"], report["done"], report["calm"]))
