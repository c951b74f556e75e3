"""What a list or watch asks for, read from the query and judged as a real API server judges it."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import orjson

from kamaji_events.simulator.refusal import Refusal, bad_request, invalid

__all__ = ["Continue", "Options"]

_TRUE = frozenset({"1", "true", "True", "t"})


@dataclass(frozen=True, slots=True)
class Continue:
    """Where a paged list goes on; ``number`` is -1 when it may be any newer version."""

    number: int
    start: str

    def token(self) -> str:
        """As the client sends it back."""
        body = orjson.dumps({"v": "meta.k8s.io/v1", "rv": self.number, "start": f"{self.start}\0"})
        return base64.urlsafe_b64encode(body).rstrip(b"=").decode()

    @classmethod
    def parse(cls, token: str) -> "Continue":
        """Read a token.

        Raises:
            Refusal: it is none of ours.
        """
        try:
            body = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
            read = msgspec.json.decode(body, type=_Token)
        except (binascii.Error, ValueError) as error:
            raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
        return cls(read.rv, "/" + read.start.lstrip("/").removesuffix("\0"))


class _Token(msgspec.Struct):
    rv: int
    start: str


@dataclass(frozen=True, slots=True)
class Options:
    """A ``ListOptions``."""

    watch: bool = False
    number: int | None = None
    """The resourceVersion that is named; None when it is not."""
    match: str = ""
    limit: int = 0
    following: Continue | None = None
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout: float | None = None
    """Seconds."""

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> "Options":
        """Read a query.

        Raises:
            Refusal: as a real API server would.
        """
        watch = query.get("watch", "") in _TRUE
        initial = query.get("sendInitialEvents")
        read = cls(
            watch=watch,
            number=_number(query.get("resourceVersion", ""), watch=watch),
            match=query.get("resourceVersionMatch", ""),
            limit=_positive(query, "limit"),
            following=Continue.parse(query["continue"]) if query.get("continue") else None,
            bookmarks=query.get("allowWatchBookmarks", "") in _TRUE,
            initial_events=None if initial is None else initial in _TRUE,
            timeout=_positive(query, "timeoutSeconds") or None,
        )
        read._check()
        return read

    def _check(self) -> None:
        if self.initial_events is not None and not self.watch:
            raise _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        if self.initial_events is not None and self.match != "NotOlderThan":
            raise _forbidden(
                "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
        if self.watch and self.match and self.initial_events is None:
            raise _forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        if not self.watch and self.match and self.number is None:
            raise _forbidden(
                "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
            )
        if self.following and self.number:
            raise bad_request("specifying resource version is not allowed when using continue")


def _number(text: str, *, watch: bool) -> int | None:
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    sentence = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
    raise Refusal(500, "", sentence) if watch else bad_request(f"invalid resource version: {sentence}")


def _positive(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "") or "0"
    if not text.lstrip("-").isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return max(0, int(text))


def _forbidden(field: str, sentence: str) -> Refusal:
    return invalid(
        "ListOptions.meta.k8s.io", "meta.k8s.io", "ListOptions", field, f"Forbidden: {sentence}",
        reason="FieldValueForbidden",
    )  # fmt: skip
