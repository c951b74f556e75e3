"""Where the bytes come from: what a reflector needs of an API client, so that tests can be one."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from publisher.watch.ask import Ask

__all__ = ["Source"]


class Source(Protocol):
    """Answers read-only requests; ``Api`` is the real one."""

    @property
    def server(self) -> str:
        """The server's address, for messages."""

    async def get(self, ask: Ask) -> bytes:
        """The whole body of a 200 answer.

        Raises:
            ClusterError: any other answer, or none.
            SettingsError: the credentials cannot be read any more.
        """

    def stream(self, ask: Ask) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The chunks of a 200 answer as they come; ends when the server ends it.

        Raises:
            ClusterError: on entering for any other answer or none; while iterating when the connection is lost.
            SettingsError: the credentials cannot be read any more.
        """
