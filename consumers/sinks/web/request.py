"""A request that costs next to nothing until somebody looks at it as httpx does."""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import httpx

__all__ = ["PlainRequest", "parsed_url"]


@lru_cache(maxsize=256)
def parsed_url(url: str) -> httpx.URL:
    """Reading a URL costs httpx 40 us, and a sink has one.

    Raises:
        httpx.InvalidURL: it is none.
    """
    return httpx.URL(url)


class PlainRequest(httpx.Request):
    """An ``httpx.Request`` without what its own constructor guesses and normalises.

    ``web.transport`` takes what is plain; other transports see all that httpx promises, made when it is asked for.

    Args:
        method: in capitals.
        url: from ``parsed_url``.
        plain: every header but ``host`` and ``content-length``.
        body: its bytes.
        extensions: httpx's, such as ``timeout``.
    """

    def __init__(
        self, method: str, url: httpx.URL, plain: list[tuple[str, str]], body: bytes, extensions: Mapping[str, Any]
    ) -> None:
        self.method = method
        self.url = url
        self.plain = plain
        self.body = body
        self.extensions = dict(extensions)

    @cached_property
    def headers(self) -> httpx.Headers:  # type: ignore[override] # made later
        """With ``host`` and ``content-length``."""
        made = httpx.Headers([("host", self.url.netloc.decode("ascii")), *self.plain])
        if self.body or self.method == "POST":
            made["content-length"] = str(len(self.body))
        return made

    @cached_property
    def stream(self) -> httpx.ByteStream:  # type: ignore[override] # made later
        """The body."""
        return httpx.ByteStream(self.body)
