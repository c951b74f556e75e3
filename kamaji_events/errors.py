"""Every error that kamaji-events raises on purpose, as one tree.

Catch broadly at the root, narrowly at the leaves::

    KamajiEventsError
    ├── InputError             the user gave something unusable: file, key and cure are named, exit code 2
    │   ├── SettingsError      environment, settings file or flag
    │   ├── FilterError        an event, cluster or namespace pattern that can match nothing
    │   └── RecordingError     a recording that cannot be read
    ├── EnvelopeError          bytes that are not an event of this contract
    ├── BrokerError            RabbitMQ
    │   ├── BrokerUnavailable  refused, cut, not answering: trying again can help
    │   ├── BrokerRefused      credentials, vhost or permission: a person must mend it
    │   ├── TopologyMismatch   an exchange or queue exists with other arguments
    │   ├── TopologyMissing    an exchange or queue is not there (any more): declare it
    │   └── PublishFailed      nacked, returned or not confirmed in time
    ├── ClusterError           the Kubernetes API
    │   ├── ClusterUnavailable refused, cut, 5xx, 429: trying again can help
    │   ├── ClusterRefused     401, 403: the message names the missing rule
    │   ├── KindMissing        404: the CRD is not installed (yet)
    │   └── ResourceExpired    410: the version is gone, relist and compare
    └── JournalError           the publisher's memory cannot be read or trusted
        ├── JournalNewer       written by a newer release
        └── JournalDamaged     parts missing, checksums wrong

Library errors never leave a room as they are: each room maps them in one place, chained as ``__cause__``.
"""

__all__ = [
    "BrokerError",
    "BrokerRefused",
    "BrokerUnavailable",
    "ClusterError",
    "ClusterRefused",
    "ClusterUnavailable",
    "EnvelopeError",
    "FilterError",
    "InputError",
    "JournalDamaged",
    "JournalError",
    "JournalNewer",
    "KamajiEventsError",
    "KindMissing",
    "PublishFailed",
    "RecordingError",
    "ResourceExpired",
    "SettingsError",
    "TopologyMismatch",
    "TopologyMissing",
]


class KamajiEventsError(Exception):
    """Root of the tree; its text is one line that a person can act on and never holds a secret."""


class InputError(KamajiEventsError):
    """Something the user gave cannot be used; the text names the file, the key and the cure."""


class SettingsError(InputError):
    """A setting from the environment, a file or a flag cannot be used."""


class FilterError(InputError):
    """A filter's pattern is malformed or can match nothing in the catalogue."""


class RecordingError(InputError):
    """A recording is missing, truncated or not in the format ``kamaji-recording/1``."""


class EnvelopeError(KamajiEventsError):
    """Bytes that should be an event of this contract are not."""


class BrokerError(KamajiEventsError):
    """RabbitMQ did not do what was asked."""


class BrokerUnavailable(BrokerError):
    """No connection, or it was lost: trying again can help."""


class BrokerRefused(BrokerError):
    """Wrong credentials, an unknown vhost or a missing permission: a person must mend it."""


class TopologyMismatch(BrokerError):
    """An exchange or queue exists with other arguments than the topology's."""


class TopologyMissing(BrokerError):
    """An exchange or queue is not there, or is no longer: declaring the topology again can help."""


class PublishFailed(BrokerError):
    """A message was nacked, returned as unroutable, or not confirmed in time."""


class ClusterError(KamajiEventsError):
    """The Kubernetes API did not do what was asked."""


class ClusterUnavailable(ClusterError):
    """Refused, cut, overloaded or answering 5xx: trying again can help.

    Attributes:
        retry_after: seconds the server asked to wait, None when it did not say.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ClusterRefused(ClusterError):
    """401 or 403; the message names the verb, the resource and the rule to add."""


class KindMissing(ClusterError):
    """404 for a whole kind: its CustomResourceDefinition is not installed (yet)."""


class ResourceExpired(ClusterError):
    """410, as a status or as an ERROR line in a 200 stream: relist and compare."""


class JournalError(KamajiEventsError):
    """The publisher's memory in the broker cannot be read or trusted."""


class JournalNewer(JournalError):
    """The journal was written by a newer release."""


class JournalDamaged(JournalError):
    """Parts of the journal are missing or fail their checksum."""
