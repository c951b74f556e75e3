"""Events as Slack messages, within Slack's limits whatever the event holds."""

from collections.abc import Mapping, Sequence
from typing import Any

from consumers.sinks.slack.limits import BLOCKS, CONTEXT, SECTION, TEXT, cut, escape, joined
from consumers.sinks.slack.settings import SlackSettings
from consumers.sinks.wording import headline, meaning, place
from kamaji_events.event import Event

__all__ = ["Names", "flood_message", "line_message", "message"]

_SIGNS = {"info": "⚪", "notice": "🟢", "warning": "🟠", "critical": "🔴"}
_RUNNING = "🔵"
_NAMES = 1500
"""Units of each list of names in a flood's message."""

Names = Mapping[str, Sequence[str]]
"""Names of objects by what is to be said of them."""


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _context(*texts: str) -> dict[str, Any]:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text} for text in texts[:CONTEXT] if text]}


def _sign(event: Event) -> str:
    running = event.operationid is not None and event.name.endswith((".requested", ".started", ".finalized"))
    return _RUNNING if running else _SIGNS.get(event.severity, _SIGNS["info"])


def message(event: Event, settings: SlackSettings) -> dict[str, Any]:
    """One event as a whole message: what happened, to whom, why, links."""
    mention = settings.mention.get(event.severity, "")  # type: ignore[call-overload]
    head = f"{_sign(event)} *{escape(headline(event), 600)}*\n{escape(place(event), 600)}"
    blocks = [_section(f"{head} {mention}".rstrip())]
    blocks.extend(_section(text) for text in (_reason(event), _blockers(event)) if text)
    blocks.append(_context(escape(meaning(event), 500), _state(event)))
    blocks.append(_context(_links(event, settings), f"`{escape(event.id, 300)}`"))
    return _finished(f"{place(event)}: {headline(event)}", blocks)


def line_message(event: Event, settings: SlackSettings) -> dict[str, Any]:
    """One event as an answer in the thread of its operation."""
    text = f"{_sign(event)} {escape(headline(event), 600)}"
    blocks = [_section(text), *(_section(more) for more in (_reason(event), _blockers(event)) if more)]
    blocks.append(_context(_time(event), _links(event, settings)))
    return _finished(f"{place(event)}: {headline(event)}", blocks)


def flood_message(title: str, total: int, done: int | None, names: Names, *, failed: bool) -> dict[str, Any]:
    """Many objects as one message.

    Args:
        title: what happens to all of them, e.g. ``Upgrade to v1.32.0 on eu-1``.
        total: how many objects.
        done: how many are through; None where nothing is to be waited for.
        names: lists of names by their heading, the most important first.
        failed: whether something went wrong with one of them.
    """
    counted = f"{total} so far" if done is None else f"{done} of {total} done"
    fine = _SIGNS["notice"] if done is None or done >= total else _RUNNING
    sign = _SIGNS["warning"] if failed else fine
    blocks = [_section(f"{sign} *{escape(title, 600)}: {counted}*" + (f"\n{_bar(done, total)}" if done else ""))]
    for heading, listed in names.items():
        if listed:
            shown = joined([escape(name, 330) for name in listed], _NAMES)
            blocks.append(_section(f"*{escape(heading, 100)} ({len(listed)}):* {shown}"))
    return _finished(f"{title}: {counted}", blocks)


def _bar(done: int, total: int) -> str:
    full = done * 20 // max(1, total)
    return f"`{'█' * full}{'░' * (20 - full)}`"


def _finished(text: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    kept = [block for block in blocks if block["type"] != "context" or block["elements"]]
    return {"text": escape(cut(text, TEXT), TEXT), "blocks": kept[:BLOCKS]}


def _time(event: Event) -> str:
    """Each reader's own time zone, by Slack's date form."""
    when = event.time
    if when is None:
        return ""
    return f"<!date^{int(when.timestamp())}^{{date_short_pretty}} {{time_secs}}|{escape(when.isoformat(), 60)}>"


def _links(event: Event, settings: SlackSettings) -> str:
    made = [f"<{escape(link.filled(event), 800)}|{escape(link.text, 75).replace('|', '/')}>" for link in settings.links]
    return joined(made, SECTION, "  ")


def _state(event: Event) -> str:
    """What is running now, and when it was said."""
    found = event.data.get("state")
    state: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    told = [f"status {state['status']}"] if isinstance(state.get("status"), str) else []
    replicas = state.get("replicas")
    if isinstance(replicas, Mapping):
        told.append(f"{replicas.get('ready', '?')} of {replicas.get('wanted', '?')} replicas ready")
    told.append(f"severity {event.severity}")
    if event.data.get("reconstructed") is True:
        told.append("found by comparing, not watched")
    return "  ·  ".join(part for part in (escape(", ".join(told), 400), _time(event)) if part)


def _reason(event: Event) -> str:
    reason = event.data.get("reason")
    if not isinstance(reason, Mapping):
        return ""
    parts = [str(reason[key]) for key in ("word", "message") if isinstance(reason.get(key), str)]
    return escape(": ".join(parts), 1000)


def _blockers(event: Event) -> str:
    found = event.data.get("blockers")
    if not isinstance(found, Sequence) or isinstance(found, str) or not found:
        return ""
    return joined([f"• {escape(_blocker(one), 400)}" for one in found], 2800, "\n")


def _blocker(one: Any) -> str:
    if not isinstance(one, Mapping):
        return str(one)
    parts = [str(one[key]) for key in ("word", "kind", "name", "message", "reason") if isinstance(one.get(key), str)]
    return ": ".join(parts) or str(dict(one))
