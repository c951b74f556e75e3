"""Lengths of time as people write them: ``90``, ``90s``, ``1.5h``, ``1h30m``, ``7d``; kept as seconds."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

__all__ = ["Duration", "seconds"]

_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d|w)\s*")


def seconds(text: object) -> object:
    """Seconds of a duration's text; anything that is no text passes through for pydantic to judge.

    Raises:
        ValueError: the text is no duration.
    """
    if not isinstance(text, str):
        return text
    stripped = text.strip()
    if re.fullmatch(r"\d+(?:\.\d+)?", stripped):
        return float(stripped)
    if stripped and re.fullmatch(rf"(?:{_PART.pattern})+", stripped):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(stripped))
    raise ValueError("write a duration such as '90s', '15m', '1h30m' or '7d'")


Duration = Annotated[float, BeforeValidator(seconds), Field(ge=0, allow_inf_nan=False)]
"""A field in seconds that also takes ``15m`` and the like."""
