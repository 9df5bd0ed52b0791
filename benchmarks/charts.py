"""Small charts as SVG, beside the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_WIDTH, _LABEL, _BAR = 720, 230, 26
_STYLE = "font-family='sans-serif' font-size='13'"


def bars(path: Path, title: str, values: Mapping[str, float], unit: str) -> None:
    """One bar for each name, as long as its value."""
    largest = max(values.values(), default=0) or 1
    height = 40 + _BAR * len(values)
    lines = [_opening(height, title)]
    for number, (name, value) in enumerate(values.items()):
        y = 34 + number * _BAR
        length = (_WIDTH - _LABEL - 130) * value / largest
        lines.append(f"<text x='{_LABEL - 8}' y='{y + 14}' text-anchor='end'>{_escaped(name)}</text>")
        lines.append(f"<rect x='{_LABEL}' y='{y}' width='{length:.1f}' height='18' fill='#3b6ea5'/>")
        lines.append(f"<text x='{_LABEL + length + 6:.1f}' y='{y + 14}'>{value:,.0f} {_escaped(unit)}</text>")
    path.write_text("\n".join([*lines, "</svg>\n"]))


def curves(
    path: Path, title: str, curves: Mapping[str, Sequence[tuple[float, float]]], x_name: str, y_name: str
) -> None:
    """One line for each name over the same axes, which begin at zero."""
    points = [point for curve in curves.values() for point in curve]
    right, top = max(x for x, _ in points) or 1, max(y for _, y in points) or 1
    left, width, height = 70, _WIDTH - 90, 240
    lines = [_opening(height + 110, title)]
    for number, (name, curve) in enumerate(curves.items()):
        colour = ("#3b6ea5", "#c0562f", "#4a8f4a", "#7a5aa5", "#8a7a3a")[number % 5]
        path_of = " ".join(f"{left + x / right * width:.1f},{40 + height - y / top * height:.1f}" for x, y in curve)
        lines.append(f"<polyline points='{path_of}' fill='none' stroke='{colour}' stroke-width='1.5'/>")
        at, below = left + 10 + number % 3 * 200, height + 80 + number // 3 * 20
        lines.append(f"<text x='{at}' y='{below}' fill='{colour}'>{_escaped(name)}</text>")
    lines.append(f"<path d='M{left} 40V{40 + height}H{left + width}' fill='none' stroke='#888'/>")
    lines.append(f"<text x='{left - 6}' y='48' text-anchor='end'>{top:,.0f}</text>")
    lines.append(f"<text x='{left + width}' y='{height + 58}' text-anchor='end'>{right:,.0f} {_escaped(x_name)}</text>")
    lines.append(f"<text x='{left + 6}' y='48'>{_escaped(y_name)}</text>")
    path.write_text("\n".join([*lines, "</svg>\n"]))


def _opening(height: int, title: str) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{height}' {_STYLE}>"
        "<rect width='100%' height='100%' fill='white'/>"
        f"<text x='10' y='20' font-weight='bold'>{_escaped(title)}</text>"
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;")
