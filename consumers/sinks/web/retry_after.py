"""The header ``Retry-After``: seconds or a date."""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

__all__ = ["retry_after"]


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait; None when the header is absent or makes no sense.

    Source: RFC 9110, 10.2.3: whole seconds, or an HTTP date. Fractions are understood too, a date that has passed
    means at once.

    Args:
        value: the header.
        now: seconds since 1970, what a date is compared with.
    """
    if value is None:
        return None
    text = value.strip()
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", text, re.ASCII):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if when.tzinfo is None:  # a date with "-0000": in UTC all the same
        when = when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now)
