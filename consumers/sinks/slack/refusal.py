"""What Slack's words of refusal mean.

Three kinds: the message is wrong and always will be (dead letter), the place is gone for good (disable), everything
else can pass or be mended: a missing scope, a bot that was not invited, an overloaded Slack. Those are failures that
the circuit breaker turns into a pause, so that nothing is lost until somebody has mended them.
"""

from consumers.sinks.base import Failed, Gone, Outcome, Rejected, Throttled

__all__ = ["MESSAGE_LOST", "SlackRefused", "refusal"]

_WRONG_MESSAGE = frozenset(
    (
        "invalid_arguments",
        "invalid_attachments",
        "invalid_blocks",
        "invalid_blocks_format",
        "invalid_form_data",
        "invalid_payload",
        "missing_text_or_fallback_or_attachments",
        "msg_blocks_too_long",
        "msg_too_long",
        "no_text",
        "too_many_attachments",
    )
)
_GONE = frozenset(
    (
        "account_inactive",
        "channel_is_archived",
        "is_archived",
        "no_active_hooks",
        "no_service",
        "no_service_id",
        "no_team",
        "team_disabled",
        "token_revoked",
    )
)
_SLOW = frozenset(("message_limit_exceeded", "rate_limited", "ratelimited"))
MESSAGE_LOST = frozenset(
    ("cant_update_message", "edit_window_closed", "is_inactive", "message_not_found", "thread_not_found")
)
"""What was said before cannot be changed or answered any more: it is said anew."""


class SlackRefused(Exception):  # noqa: N818 - says what happened, as kamaji_events.errors
    """Slack did not do it.

    Attributes:
        outcome: what it means for the delivery.
        word: Slack's own, empty when there is none.
    """

    def __init__(self, outcome: Outcome, word: str = "") -> None:
        super().__init__(word)
        self.outcome = outcome
        self.word = word


def refusal(word: str, status: int, retry_after: float | None) -> SlackRefused:
    """The refusal for Slack's word, or for a status without one.

    Args:
        word: ``error`` of the Web API, or an incoming webhook's body.
        status: of the reply; the Web API says 200 to almost everything.
        retry_after: seconds that Slack asks to wait.
    """
    known = word if word.replace("_", "").isalnum() and word.isascii() else ""
    error = f"Slack answered {status}{f': {known[:60]}' if known else ''}"
    if known in _SLOW or status == 429:  # noqa: PLR2004 - too many requests
        return SlackRefused(Throttled(error, retry_after=retry_after, status=status), known)
    if known in _WRONG_MESSAGE:
        return SlackRefused(Rejected(error, status=status), known)
    if known in _GONE or status == 410:  # noqa: PLR2004 - gone
        return SlackRefused(Gone(error, status=status), known)
    return SlackRefused(Failed(error, retry_after=retry_after, status=status), known)
