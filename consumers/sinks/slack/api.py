"""Calls to Slack: one after the other, not faster than Slack takes them."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import orjson

from consumers.sinks.base import Throttled
from consumers.sinks.slack.refusal import SlackRefused, refusal
from consumers.sinks.slack.settings import SlackSettings
from consumers.sinks.web.client import Reply, WebClient, user_agent
from consumers.sinks.web.retry_after import retry_after

__all__ = ["PATIENCE", "SlackApi"]

_log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Most seconds that a delivery waits for its turn here; a longer wait is the broker's."""


class SlackApi:
    """The two ways into Slack.

    Args:
        settings: which one.
        client: what carries the bytes.
        clock: seconds since 1970.
    """

    def __init__(self, settings: SlackSettings, client: WebClient, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._client = client
        self._clock = clock
        self._next = 0.0

    async def post(self, message: dict[str, Any], *, thread: str | None = None) -> str:
        """Say something; its ``ts``, the name by which it is answered and updated.

        Raises:
            SlackRefused: with what it means.
            NoReply: Slack was not reached.
        """
        said = {"channel": self._settings.channel, "unfurl_links": False, "unfurl_media": False, **message}
        if thread is not None:
            said["thread_ts"] = thread
        answer = await self._call("chat.postMessage", said)
        ts = answer.get("ts")
        if not isinstance(ts, str):
            raise refusal("", 200, None)
        return ts

    async def update(self, ts: str, message: dict[str, Any]) -> None:
        """Change what was said.

        Raises:
            SlackRefused: with what it means.
            NoReply: Slack was not reached.
        """
        await self._call("chat.update", {"channel": self._settings.channel, "ts": ts, **message})

    async def hook(self, message: dict[str, Any]) -> None:
        """Say something through the incoming webhook.

        Raises:
            SlackRefused: with what it means.
            NoReply: Slack was not reached.
        """
        assert self._settings.webhook_url is not None  # noqa: S101 - the sink's own choice
        reply = await self._sent(self._settings.webhook_url.value(), [], message)
        if reply.status != 200:  # noqa: PLR2004 - an incoming webhook says 200 or why not
            raise self._refused(reply.body[:80].decode("utf-8", errors="replace").strip(), reply)

    async def _call(self, method: str, message: dict[str, Any]) -> dict[str, Any]:
        assert self._settings.token is not None  # noqa: S101 - the sink's own choice
        authorization = ("authorization", f"Bearer {self._settings.token.value()}")
        reply = await self._sent(f"{self._settings.api_url.value().rstrip('/')}/{method}", [authorization], message)
        try:
            answer = orjson.loads(reply.body)
        except orjson.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict) or answer.get("ok") is not True:
            raise self._refused(str(answer.get("error", "")) if isinstance(answer, dict) else "", reply)
        if warning := answer.get("warning"):
            _log.debug("Slack warns of %s: %s", method, warning)
        return answer

    async def _sent(self, url: str, more: list[tuple[str, str]], message: dict[str, Any]) -> Reply:
        await self._turn()
        headers = [
            ("content-type", "application/json; charset=utf-8"),
            ("user-agent", user_agent()),
            ("accept-encoding", "identity"),
            *more,
        ]
        return await self._client.send("POST", url, headers, orjson.dumps(message), whole=True)

    async def _turn(self) -> None:
        """Wait for one's turn, if it comes soon."""
        now = self._clock()
        wait = self._next - now
        if wait > PATIENCE:
            raise SlackRefused(Throttled("Slack takes about a message a second", retry_after=wait))
        self._next = max(self._next, now) + self._settings.interval
        if wait > 0:
            await asyncio.sleep(wait)

    def _refused(self, word: str, reply: Reply) -> SlackRefused:
        refused = refusal(word, reply.status, retry_after(reply.headers.get("retry-after"), self._clock()))
        if isinstance(refused.outcome, Throttled):
            self._next = max(self._next, self._clock() + (refused.outcome.retry_after or self._settings.interval))
        return refused
