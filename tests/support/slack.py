"""A stand-in for Slack that enforces its documented limits."""

from collections.abc import Callable
from typing import Any

import httpx
import orjson

__all__ = ["SlackStandIn"]

TOKEN = "xoxb-good"
CHANNEL = "C0123456789"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


class SlackStandIn:
    """Handler of an ``httpx.MockTransport``.

    Attributes:
        messages: what the channel shows now, by ``ts``: parents and answers.
        calls: every method that was called, in order.
        refuse: gives an error word for a call, or None.
    """

    def __init__(self, *, clock: Callable[[], float] | None = None, gap: float = 1.0, retry_after: int = 7) -> None:
        self.messages: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refuse: Callable[[str, dict[str, Any]], str | httpx.Response | None] = lambda *_: None
        self.clock = clock
        self.gap = gap
        self.retry_after = str(retry_after)
        self.last = -1e9

    def transport(self) -> httpx.MockTransport:
        """To build the sink with."""
        return httpx.MockTransport(self)

    @property
    def parents(self) -> list[dict[str, Any]]:
        """What the channel shows outside of threads."""
        return [message for message in self.messages.values() if "thread_ts" not in message]

    def answers(self, ts: str) -> list[dict[str, Any]]:
        """What the thread of a message shows."""
        return [message for message in self.messages.values() if message.get("thread_ts") == ts]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one call as Slack does."""
        body = orjson.loads(request.content)
        if request.url.host == "hooks.slack.com":
            return self._hook(body)
        method = request.url.path.rpartition("/")[2]
        if request.headers["authorization"] != f"Bearer {TOKEN}":
            return self._error("invalid_auth")
        if self.clock is not None:
            if self.clock() - self.last < self.gap:
                return httpx.Response(
                    429, headers={"retry-after": self.retry_after}, json={"ok": False, "error": "ratelimited"}
                )
            self.last = self.clock()
        self.calls.append((method, body))
        refused = self.refuse(method, body)
        if isinstance(refused, httpx.Response):
            return refused
        word = refused or ("channel_not_found" if body.get("channel") != CHANNEL else None) or self.limits(body)
        if word:
            return self._error(word)
        return self._post(body) if method == "chat.postMessage" else self._update(body)

    def _hook(self, body: dict[str, Any]) -> httpx.Response:
        self.calls.append(("hook", body))
        refused = self.refuse("hook", body) or self.limits(body)
        if isinstance(refused, httpx.Response):
            return refused
        if refused:
            return httpx.Response(400, text="invalid_payload")
        self.messages[str(len(self.messages))] = body
        return httpx.Response(200, text="ok")

    def _post(self, body: dict[str, Any]) -> httpx.Response:
        if "thread_ts" in body and body["thread_ts"] not in self.messages:
            return self._error("thread_not_found")
        ts = f"17961336{len(self.calls):02d}.{len(self.messages):06d}"
        self.messages[ts] = body
        return httpx.Response(200, json={"ok": True, "ts": ts, "channel": CHANNEL})

    def _update(self, body: dict[str, Any]) -> httpx.Response:
        if body["ts"] not in self.messages:
            return self._error("message_not_found")
        self.messages[body["ts"]] = {**self.messages[body["ts"]], **body}
        return httpx.Response(200, json={"ok": True, "ts": body["ts"], "channel": CHANNEL})

    @staticmethod
    def _error(word: str) -> httpx.Response:
        return httpx.Response(200, json={"ok": False, "error": word})

    @staticmethod
    def limits(body: dict[str, Any]) -> str | None:
        """Slack's word for a message that is beyond its limits; None for one that fits."""
        blocks = body.get("blocks", [])
        if not body.get("text"):
            return "no_text"
        if _units(body["text"]) > 4000:
            return "msg_too_long"
        if len(blocks) > 50:
            return "invalid_blocks"
        total = 0
        for block in blocks:
            texts = [block["text"]] if block["type"] == "section" else block["elements"]
            if block["type"] not in ("section", "context") or not 1 <= len(texts) <= 10:
                return "invalid_blocks"
            for text in texts:
                if not 1 <= _units(text["text"]) <= 3000 or text["type"] != "mrkdwn":
                    return "invalid_blocks"
                total += _units(text["text"])
        return "msg_blocks_too_long" if total > 13_200 else None
