"""What a receiver's status means for a delivery.

Standard Webhooks and the field agree: 2xx is taken, 410 is gone, everything else is tried again. A 4xx is *not* taken
as a verdict on the event, unlike what the number says: receivers answer 400, 401, 404 or 422 for minutes while they
are deployed or misconfigured, and an event that went to the dead letters for that is work for a person. Tries are
bounded, so an event that is really unwanted ends there too, later. The one exception is 413: the bytes will never be
fewer. ``statuses`` says otherwise for a receiver that is known better.
"""

from collections.abc import Mapping
from typing import Literal

from consumers.sinks.base import Delivered, Failed, Gone, Outcome, Rejected, Throttled
from consumers.sinks.web.client import Reply, host_of
from consumers.sinks.web.retry_after import retry_after

__all__ = ["Verdict", "judge"]

Verdict = Literal["delivered", "failed", "throttled", "rejected", "gone"]

_VERDICTS: Mapping[int, Verdict] = {410: "gone", 413: "rejected", 429: "throttled"}
_BUSY = frozenset((502, 503, 504))
"""Asking to slow down when they say for how long, else failures like any other."""


def judge(reply: Reply, url: str, now: float, statuses: Mapping[int, Verdict]) -> Outcome:
    """The outcome of a reply.

    Args:
        reply: status, headers and the start of the body.
        url: where it came from; only scheme and host are shown.
        now: seconds since 1970, for a Retry-After that is a date.
        statuses: the user's own meanings, before all others.
    """
    status = reply.status
    wait = retry_after(reply.headers.get("retry-after"), now)
    verdict = statuses.get(status) or _verdict(status, asked=wait is not None)
    if verdict == "delivered":
        return Delivered(f"{status}")
    error = _told(reply, url)
    if verdict == "throttled":
        return Throttled(error, retry_after=wait, status=status)
    if verdict == "failed":
        return Failed(error, retry_after=wait, status=status)
    return Gone(error, status=status) if verdict == "gone" else Rejected(error, status=status)


def _verdict(status: int, *, asked: bool) -> Verdict:
    if 200 <= status < 300:  # noqa: PLR2004 - the class of success
        return "delivered"
    if status in _BUSY and asked:
        return "throttled"
    return _VERDICTS.get(status, "failed")


def _told(reply: Reply, url: str) -> str:
    said = reply.excerpt()
    head = f"{host_of(url)} answered {reply.status}"
    if 300 <= reply.status < 400:  # noqa: PLR2004 - redirects
        where = reply.headers.get("location", "")
        to = f" to {host_of(where)}" if where.startswith("http") else ""
        return f"{head}: a redirect{to} is not followed: write the new place into the URL"
    return f"{head}: {said}" if said else head
