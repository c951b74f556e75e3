"""Slack's documented limits, and how text is cut to them.

Source: docs.slack.dev, Block Kit reference and chat.postMessage. Slack counts in UTF-16 units, as its clients do, so
that is what is counted here. The bound on all blocks together is not documented: ``msg_blocks_too_long`` was reported
from 13,200 characters on (slackapi/bolt-js#2509).
"""

__all__ = ["BLOCKS", "CONTEXT", "SECTION", "TEXT", "WHOLE", "cut", "escape", "joined", "units"]

BLOCKS = 50
"""Blocks in a message."""
SECTION = 3000
"""Text of a section or of one context element."""
CONTEXT = 10
"""Elements of a context block."""
TEXT = 3000
"""A message's ``text``: Slack advises at most 4,000 and cuts at 40,000."""
WHOLE = 12_000
"""All blocks together."""

_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def units(text: str) -> int:
    """Length as Slack counts it."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def escape(text: str, most: int = SECTION) -> str:
    """Text that Slack shows as it is: no link, mention or entity can be made by it.

    It is cut before it is escaped, so that neither an entity nor a letter is ever cut in two.

    Args:
        text: anything.
        most: UTF-16 units of the result; a longer one ends with an ellipsis.
    """
    parts: list[str] = []
    size = 0
    for letter in text:
        part = _ESCAPED.get(letter, letter if letter.isprintable() or letter == "\n" else " ")
        size += units(part)
        parts.append(part)
        if size > most:
            return _shortened(parts, size, most)
    return "".join(parts)


def _shortened(parts: list[str], size: int, most: int) -> str:
    while parts and size > most - 1:
        size -= units(parts.pop())
    return "".join(parts) + "…" if most > 0 else ""


def cut(text: str, most: int) -> str:
    """Plain text of at most so many units."""
    if units(text) <= most:
        return text
    return _shortened(list(text), units(text), most)


def joined(parts: list[str], most: int, separator: str = ", ") -> str:
    """As many whole parts as fit, and how many more there are.

    Args:
        parts: already escaped.
        most: UTF-16 units of the result.
        separator: what stands between two.
    """
    taken: list[str] = []
    for part in parts:
        left = len(parts) - len(taken) - 1
        line = separator.join([*taken, part]) + (f"{separator}and {left} more" if left else "")
        if units(line) > most:
            break
        taken.append(part)
    left = len(parts) - len(taken)
    return separator.join([*taken, f"and {left} more"] if left else taken)
