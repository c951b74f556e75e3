"""The plot: each judged figure as a bar of how much of its bound it uses, drawn as SVG by plain code."""

import math
import statistics
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

__all__ = ["as_svg"]

_LEFT, _WIDTH, _ROW, _TOP = 380, 520, 22, 46
_LEAST, _MOST = 1 / 32, 4.0
_FONT = 'font-family="sans-serif" font-size="11"'
_TITLE = "Share of its bound that each figure uses (log scale; shorter is better)"
_GOOD, _BAD, _INK = "#2e7d4f", "#b3402e", "#444"


def _used(told: Mapping[str, Any], value: float) -> float:
    """1 is the bound, less is better, whichever way the bound points."""
    bound: float = told["bound"]
    return bound / max(value, 1e-9) if told["op"] == ">=" else value / bound


def _x(used: float) -> float:
    share = math.log(min(max(used, _LEAST), _MOST) / _LEAST) / math.log(_MOST / _LEAST)
    return round(_LEFT + share * _WIDTH, 1)


def _bars(cases: Mapping[str, Any]) -> Iterator[tuple[str, list[float]]]:
    for name, case in cases.items():
        for told in case["figures"]:
            if told["op"]:
                yield f"{name}: {told['figure']}", [_used(told, value) for value in told["values"]]


def _bar(number: int, label: str, used: list[float]) -> str:
    middle = _TOP + number * _ROW + _ROW / 2
    median = statistics.median(used)
    colour = _GOOD if median <= 1 else _BAD
    return (
        f'<text x="{_LEFT - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>'
        f'<rect x="{_LEFT}" y="{middle - 6}" width="{round(_x(median) - _LEFT, 1)}" height="12" fill="{colour}"/>'
        f'<line x1="{_x(min(used))}" x2="{_x(max(used))}" y1="{middle}" y2="{middle}" stroke="black"/>'
    )


def _scale(height: float) -> Iterator[str]:
    for used in (1 / 16, 1 / 4, 1.0, 4.0):
        dash = "" if used == 1 else ' stroke-dasharray="2 4"'
        text = "the bound" if used == 1 else f"{used:g} x"
        yield f'<line x1="{_x(used)}" x2="{_x(used)}" y1="{_TOP - 6}" y2="{height - 8}" stroke="{_INK}"{dash}/>'
        yield f'<text x="{_x(used)}" y="{_TOP - 12}" text-anchor="middle">{text}</text>'


def as_svg(cases: Mapping[str, Any]) -> str:
    """Bars to the median, lines from the smallest to the largest; left of the bound is reached."""
    bars = list(_bars(cases))
    height = _TOP + len(bars) * _ROW + 12
    width = _LEFT + _WIDTH + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="12" y="18" font-size="13">{_TITLE}</text>',
        *_scale(height),
        *(_bar(number, label, used) for number, (label, used) in enumerate(bars)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
