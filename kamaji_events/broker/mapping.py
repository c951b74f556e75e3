"""The one place where errors of aiormq, aio-pika, pamqp and the socket become ours.

AMQP reply codes are those of the specification 0-9-1, section 1.1; what RabbitMQ uses them for was measured.
"""

import asyncio
import ssl
from socket import gaierror
from typing import Final

from aiormq import exceptions as amqp
from pamqp.exceptions import PAMQPException

from kamaji_events.errors import (
    BrokerError,
    BrokerRefused,
    BrokerUnavailable,
    PublishFailed,
    TopologyMismatch,
    TopologyMissing,
)

__all__ = ["LIBRARY_ERRORS", "from_close", "from_library"]

LIBRARY_ERRORS: Final = (
    amqp.AMQPError,
    amqp.ChannelInvalidStateError,
    PAMQPException,
    OSError,
    EOFError,
    TimeoutError,
    asyncio.IncompleteReadError,
)
"""What the libraries raise on purpose; a programming error is not among it."""

_ACCESS_REFUSED, _NOT_FOUND, _LOCKED, _PRECONDITION_FAILED = 403, 404, 405, 406
_INVALID_PATH, _NOT_ALLOWED, _NOT_IMPLEMENTED = 402, 530, 540

_OF_CODE: Final[dict[int, type[BrokerError]]] = {
    _INVALID_PATH: BrokerRefused,
    _ACCESS_REFUSED: BrokerRefused,
    _NOT_ALLOWED: BrokerRefused,
    _NOT_FOUND: TopologyMissing,
    _LOCKED: BrokerUnavailable,
    _NOT_IMPLEMENTED: BrokerError,
}

_OF_CLASS: Final[tuple[tuple[type[BaseException], type[BrokerError]], ...]] = (
    (amqp.AuthenticationError, BrokerRefused),
    (amqp.ProbableAuthenticationError, BrokerRefused),
    (amqp.IncompatibleProtocolError, BrokerRefused),
    (amqp.ConnectionNotAllowed, BrokerRefused),
    (amqp.ConnectionNotImplemented, BrokerError),
    (amqp.AMQPConnectionError, BrokerUnavailable),
    (amqp.ChannelAccessRefused, BrokerRefused),
    (amqp.ChannelNotFoundEntity, TopologyMissing),
    (amqp.ChannelLockedResource, BrokerUnavailable),
    (amqp.ChannelPreconditionFailed, TopologyMismatch),
    (amqp.DuplicateConsumerTag, BrokerError),
    (amqp.AMQPChannelError, BrokerUnavailable),
    (amqp.ChannelInvalidStateError, BrokerUnavailable),
    (amqp.DeliveryError, PublishFailed),
    (amqp.ProtocolSyntaxError, BrokerUnavailable),
    (amqp.MethodNotImplemented, BrokerError),
    (ssl.SSLCertVerificationError, BrokerRefused),
    (amqp.AMQPError, BrokerError),
    (PAMQPException, BrokerUnavailable),
    (OSError, BrokerUnavailable),
    (EOFError, BrokerUnavailable),
    (asyncio.CancelledError, BrokerUnavailable),
)
"""The most specific first. CancelledError stands here because aiormq names a stuck connection so."""


def from_close(code: int | None, text: str | None) -> BrokerError:
    """What a ``close`` of a channel or connection by the broker means.

    Args:
        code: AMQP reply code.
        text: the broker's words; they name the object and hold no secret.
    """
    words = (text or "closed without a reason").strip()
    if code == _PRECONDITION_FAILED:
        return _precondition(words)
    return _OF_CODE.get(code or 0, BrokerUnavailable)(f"RabbitMQ: {words}")


def _precondition(words: str) -> BrokerError:
    """406 is said for three unlike things: other arguments, a message too large, an ack that came too late."""
    if "inequivalent" in words or "invalid arg" in words:
        return TopologyMismatch(f"RabbitMQ: {words}")
    if "message size" in words:
        return PublishFailed(f"RabbitMQ: {words}")
    return BrokerUnavailable(f"RabbitMQ: {words}")


def from_library(error: BaseException, *, where: str = "") -> BrokerError:
    """The error of ours for one of the libraries'; the caller chains it.

    Args:
        error: what was raised.
        where: host, port and vhost, never the password.
    """
    if isinstance(error, BrokerError):
        return error
    if isinstance(error.__cause__, ssl.SSLError | gaierror | ConnectionRefusedError):
        error = error.__cause__
    at = f" at {where}" if where else ""
    if type(error) is amqp.ConnectionClosed and len(error.args) > 1:
        return _located(from_close(*error.args[:2]), at)
    kind = next((ours for theirs, ours in _OF_CLASS if isinstance(error, theirs)), BrokerError)
    return kind(f"RabbitMQ{at}: {_words(error)}")


def _located(error: BrokerError, at: str) -> BrokerError:
    return type(error)(str(error).replace("RabbitMQ", f"RabbitMQ{at}", 1))


def _words(error: BaseException) -> str:
    """One line that says what to do about it, where that is known."""
    match error:
        case ssl.SSLCertVerificationError():
            words = f"its certificate is not trusted ({error.verify_message}); give ?cafile=/path/ca.pem in the URL"
        case ssl.SSLError():
            words = f"TLS failed ({error.reason or error}); amqps:// is for the TLS port, usually 5671"
        case gaierror():
            words = f"the host name is not known ({error.strerror})"
        case ConnectionRefusedError():
            words = "nothing listens there (connection refused)"
        case amqp.AuthenticationError():
            words = "it offers no PLAIN login; enable that mechanism or give ?auth=... in the URL"
        case TimeoutError():
            words = "no answer in time"
        case asyncio.CancelledError():
            words = "the connection was silent for longer than the heartbeat allows"
        case _:
            words = " ".join(str(part) for part in error.args if part is not None)
    return " ".join(words.split()) or type(error).__name__
