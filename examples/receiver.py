"""A webhook receiver in plain Python: verifies the signature, drops copies, answers quickly.

Start it with the secret that the subscription signs with::

    WEBHOOK_SECRET=whsec_... python receiver.py 8081

What it does is what any receiver should do, in any language; libraries for most are at standardwebhooks.com.
"""

import base64
import hmac
import json
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_TOLERANCE = 300
"""Seconds that a signature may be old: what was recorded cannot be played back later."""
_LONGEST = 2**20
_REMEMBERED = 10_000


def verified(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Whether one of the signatures is right, over the bytes as they came.

    Args:
        secret: ``whsec_`` and base64.
        headers: names in lower case.
        body: never parsed and serialised again.
        now: seconds since 1970.
    """
    identifier, seconds = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not seconds.isdecimal() or abs(now - int(seconds)) > _TOLERANCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    right = base64.b64encode(hmac.digest(key, f"{identifier}.{seconds}.".encode() + body, "sha256")).decode()
    return any(hmac.compare_digest(given, right) for given in _signatures(headers))


def _signatures(headers: Mapping[str, str]) -> Iterator[str]:
    for part in headers.get("webhook-signature", "").split():
        version, _, given = part.partition(",")
        if version == "v1" and given.isascii():
            yield given


class Receiver(BaseHTTPRequestHandler):
    """Shows each event once."""

    protocol_version = "HTTP/1.1"
    secret = os.environ.get("WEBHOOK_SECRET", "")
    seen: OrderedDict[str, None] = OrderedDict()  # noqa: RUF012 - shared by all requests on purpose

    def do_GET(self) -> None:
        """For health checks."""
        self._answer(200)

    def do_POST(self) -> None:
        """Take an event."""
        length = int(self.headers.get("content-length", "0"))
        if length > _LONGEST:
            self.close_connection = True
            return self._answer(413)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not verified(self.secret, headers, body, time.time()):
            return self._answer(401)
        if headers["webhook-id"] not in self.seen:  # events come at least once
            self._show(json.loads(body))
            self.seen[headers["webhook-id"]] = None
            while len(self.seen) > _REMEMBERED:
                self.seen.popitem(last=False)
        return self._answer(204)

    def _show(self, event: dict[str, str]) -> None:
        print(event["time"], event["type"], event.get("subject", ""), event.get("sequence", ""), flush=True)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        if status != 204:  # noqa: PLR2004 - no content
            self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Only events are shown."""


def main() -> None:
    """Serve until Ctrl-C."""
    if not Receiver.secret:
        sys.exit("set WEBHOOK_SECRET to the secret of the subscription (whsec_...)")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8081
    with ThreadingHTTPServer(("", port), Receiver) as server:
        print(f"listening on port {server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
