"""Every error of the libraries has one of ours."""

import inspect
import ssl
from socket import gaierror
from types import ModuleType

import aio_pika.exceptions
import aiormq.exceptions
import pamqp.exceptions
import pytest
from pamqp import commands as spec

from kamaji_events.broker.mapping import LIBRARY_ERRORS, from_close, from_library
from kamaji_events.errors import (
    BrokerError,
    BrokerRefused,
    BrokerUnavailable,
    PublishFailed,
    TopologyMismatch,
    TopologyMissing,
)

EXPECTED: dict[str, type[BrokerError]] = {
    "AMQPChannelError": BrokerUnavailable,
    "AMQPConnectionError": BrokerUnavailable,
    "AMQPError": BrokerError,
    "AuthenticationError": BrokerRefused,
    "ChannelAccessRefused": BrokerRefused,
    "ChannelClosed": BrokerUnavailable,
    "ChannelInvalidStateError": BrokerUnavailable,
    "ChannelLockedResource": BrokerUnavailable,
    "ChannelNotFoundEntity": TopologyMissing,
    "ChannelPreconditionFailed": TopologyMismatch,
    "ConnectionChannelError": BrokerUnavailable,
    "ConnectionClosed": BrokerUnavailable,
    "ConnectionCommandInvalid": BrokerUnavailable,
    "ConnectionFrameError": BrokerUnavailable,
    "ConnectionInternalError": BrokerUnavailable,
    "ConnectionNotAllowed": BrokerRefused,
    "ConnectionNotImplemented": BrokerError,
    "ConnectionResourceError": BrokerUnavailable,
    "ConnectionSyntaxError": BrokerUnavailable,
    "ConnectionUnexpectedFrame": BrokerUnavailable,
    "DeliveryError": PublishFailed,
    "DuplicateConsumerTag": BrokerError,
    "IncompatibleProtocolError": BrokerRefused,
    "InvalidFrameError": BrokerUnavailable,
    "MessageProcessError": BrokerError,
    "MethodNotImplemented": BrokerError,
    "ProbableAuthenticationError": BrokerRefused,
    "ProtocolSyntaxError": BrokerUnavailable,
    "PublishError": PublishFailed,
    "QueueEmpty": BrokerError,
}


def errors_of(module: ModuleType) -> set[type[Exception]]:
    """The exceptions that a module offers."""
    found = (member for _, member in inspect.getmembers(module, inspect.isclass))
    return {member for member in found if issubclass(member, Exception) and "." in member.__module__}


def test_every_error_of_the_libraries_has_been_thought_about() -> None:
    """When aiormq or aio-pika grows one, somebody has to say here what it means."""
    names = {error.__name__ for error in errors_of(aiormq.exceptions) | errors_of(aio_pika.exceptions)}
    assert names == set(EXPECTED)


@pytest.mark.parametrize(("name", "ours"), EXPECTED.items())
def test_each_becomes_what_it_means(name: str, ours: type[BrokerError]) -> None:
    """The most specific of ours, and it is among those that are caught."""
    theirs = getattr(aiormq.exceptions, name, None) or getattr(aio_pika.exceptions, name)
    error = theirs.__new__(theirs)
    error.frame = spec.Basic.Nack(delivery_tag=1)  # what the text of a delivery error is made of
    assert type(from_library(error)) is ours
    assert isinstance(error, LIBRARY_ERRORS)


@pytest.mark.parametrize("error", sorted(errors_of(pamqp.exceptions), key=str))
def test_unreadable_frames_are_a_lost_connection(error: type[Exception]) -> None:
    """Whatever pamqp raises comes from bytes that are no AMQP."""
    assert type(from_library(error("frame", "reason"))) is BrokerUnavailable


@pytest.mark.parametrize(
    ("code", "text", "ours"),
    [
        (320, "CONNECTION_FORCED - closed by an operator", BrokerUnavailable),
        (402, "INVALID_PATH", BrokerRefused),
        (403, "ACCESS_REFUSED - access to queue refused", BrokerRefused),
        (404, "NOT_FOUND - no queue 'q'", TopologyMissing),
        (405, "RESOURCE_LOCKED", BrokerUnavailable),
        (406, "PRECONDITION_FAILED - inequivalent arg 'x-max-age' for queue 'q'", TopologyMismatch),
        (406, "PRECONDITION_FAILED - message size 200 is larger than configured max size 100", PublishFailed),
        (406, "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out", BrokerUnavailable),
        (504, "CHANNEL_ERROR - expected 'channel.open'", BrokerUnavailable),
        (530, "NOT_ALLOWED - vhost x not found", BrokerRefused),
        (540, "NOT_IMPLEMENTED", BrokerError),
        (None, None, BrokerUnavailable),
    ],
)
def test_close_codes(code: int | None, text: str | None, ours: type[BrokerError]) -> None:
    """A close by the broker is sorted by its code, and 406 by its words."""
    error = from_close(code, text)
    assert type(error) is ours
    assert (text or "") in str(error)


def test_causes_that_say_more_are_used() -> None:
    """Name and TLS errors come wrapped; the wrapped one decides."""
    wrapped = aiormq.exceptions.AMQPConnectionError(-2, "Name or service not known")
    wrapped.__cause__ = gaierror(-2, "Name or service not known")
    assert "host name is not known" in str(from_library(wrapped, where="mq:5672/"))
    wrapped.__cause__ = certificate = ssl.SSLCertVerificationError(1, "x")
    certificate.verify_message = "self-signed certificate"
    assert type(from_library(wrapped)) is BrokerRefused


def test_ours_pass_as_they_are() -> None:
    """Mapping twice changes nothing."""
    error = TopologyMissing("x")
    assert from_library(error) is error
