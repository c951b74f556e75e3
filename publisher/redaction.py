"""What a recording leaves out: whatever could be a secret, replaced so that a change of it is still seen as one.

A stand-in is ``redacted:<12 hex digits>``, a keyed hash under a key that is made for one recording and thrown away:
equal values stay equal and different ones different, so that a comparison of two states still gives the same events,
and nobody can try out guesses.

Redacted are

- ``data``, ``stringData`` and ``binaryData`` of anything (never asked for in the first place), and the annotation in
  which kubectl keeps a copy of the whole object: both are removed;
- annotations other than Kamaji's own and the Deployment's revision;
- in specs: a DataStore's credentials and certificates that are written inline (``content``), values of environment
  variables, values under names that speak of a secret, flags and URLs that carry a password, private keys.

Names of Secrets and references to them stay: without them a bug report says nothing.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any

__all__ = ["Redactor"]

_DROPPED = frozenset({"data", "stringData", "binaryData"})
_COPY = "kubectl.kubernetes.io/last-applied-configuration"
_KEPT_ANNOTATIONS = re.compile(r"(?:[a-z0-9-]+\.)*kamaji\.clastix\.io/|deployment\.kubernetes\.io/revision$")
_SECRET = r"(?:passw(?:or)?d|passphrase|secret|token|credential|api-?key|private-?key|access-?key)"  # noqa: S105
_SPEAKING = re.compile(_SECRET, re.IGNORECASE)
_REFERENCE = re.compile(
    r"(?:name|namespace|ref|reference|path|keypath|file|checksum|mountpath|enabled)s?$", re.IGNORECASE
)
"""A name that speaks of a secret and ends so says where one is, not what it is."""
_NOT_WHERE = r"(?<!-file)(?<!-path)(?<!-name)"
_FLAG = re.compile(
    rf"((?:[\w-]*{_SECRET}[\w-]*{_NOT_WHERE}[=:]\s*)|(?:--?[\w-]*{_SECRET}[\w-]*{_NOT_WHERE}\s+))([^\s&\"',]+)",
    re.IGNORECASE,
)
"""A flag or parameter with its value: ``--token=x``, ``--token x``, ``password: x``."""
_FLAG_ALONE = re.compile(rf"--?[\w-]*{_SECRET}(?:-value)?", re.IGNORECASE)
_USERINFO = re.compile(r"(://)([^/@\s]+)(@)")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")


class Redactor:
    """Makes objects fit to be shown to strangers; one for each recording.

    Args:
        keep_annotations: annotations whose values are kept as well.
        key: what stand-ins are made with; random when not given.
    """

    def __init__(self, *, keep_annotations: tuple[str, ...] = (), key: bytes | None = None) -> None:
        self._keep = frozenset(keep_annotations)
        self._key = key or secrets.token_bytes(32)

    def _stand_in(self, value: str) -> str:
        return "redacted:" + hmac.new(self._key, value.encode(), hashlib.sha256).hexdigest()[:12]

    def object(self, object_: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of an object, or of a list of objects, without secrets."""
        kept = {name: value for name, value in object_.items() if name not in _DROPPED}
        if isinstance(items := kept.get("items"), list):
            return kept | {"items": [self.object(item) for item in items if isinstance(item, dict)]}
        return {
            name: self._metadata(value) if name == "metadata" else self._walk(name, value)
            for name, value in kept.items()
        }

    def _metadata(self, metadata: Any) -> Any:
        if not isinstance(metadata, dict):
            return metadata
        if isinstance(fields := metadata.get("managedFields"), list):
            metadata = metadata | {"managedFields": [self._fields(entry) for entry in fields]}
        if not isinstance(annotations := metadata.get("annotations"), dict):
            return metadata
        kept = {name: self._annotation(name, value) for name, value in annotations.items() if name != _COPY}
        return metadata | {"annotations": kept}

    def _fields(self, value: Any) -> Any:
        """Of a list that is a set, managedFields name the values themselves: ``v:"..."``."""
        if not isinstance(value, dict):
            return value
        return {self._text("", name): self._fields(inner) for name, inner in value.items()}

    def _annotation(self, name: str, value: Any) -> Any:
        if name in self._keep or _KEPT_ANNOTATIONS.match(name):
            return value
        return self._stand_in(str(value))

    def _walk(self, name: str, value: Any) -> Any:
        """A value and all below it, ``name`` being the key it stands under."""
        if isinstance(value, dict):
            return {below: self._walk(_named(below, value), inner) for below, inner in value.items()}
        if isinstance(value, list):
            before = ["", *value[:-1]]
            return [self._walk(_argument(flag) or name, inner) for flag, inner in zip(before, value, strict=True)]
        return self._text(name, value) if isinstance(value, str) else value

    def _text(self, name: str, value: str) -> str:
        if _PRIVATE_KEY.search(value) or (_SPEAKING.search(name) and not _REFERENCE.search(name)):
            return self._stand_in(value)
        value = _USERINFO.sub(lambda found: found[1] + self._stand_in(found[2]) + found[3], value)
        return _FLAG.sub(lambda found: found[1] + self._stand_in(found[2]), value)


def _argument(before: Any) -> str:
    """The flag that an item of a command line belongs to when it stands before it: ``--password``, then the word."""
    return "secret" if isinstance(before, str) and _FLAG_ALONE.fullmatch(before) else ""


def _named(name: str, beside: Mapping[str, Any]) -> str:
    """An environment variable's value, and inline content, are told by where they stand: call them secrets."""
    inline = name == "content" or (name == "value" and isinstance(beside.get("name"), str))
    return "secret" if inline else name
