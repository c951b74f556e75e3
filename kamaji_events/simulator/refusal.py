"""What an API server says when it does not do what was asked: a Kubernetes ``Status``, in its own words.

Texts and fields are those of a kube-apiserver v1.36.3, as the behaviour suite compares them.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from kamaji_events.simulator.kinds import Kind

__all__ = [
    "Refusal",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "invalid",
    "not_found",
    "terminating",
    "too_large",
    "unauthorized",
]


class Refusal(Exception):  # noqa: N818 - it is an answer
    """An answer other than success.

    Args:
        code: HTTP status code.
        reason: the Status' CamelCase word, or empty.
        message: its sentence.
        details: its details.
        continue_: a continue token that the Status offers.
        headers: HTTP headers beside it.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        continue_: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = dict(headers or {})
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": continue_} if continue_ else {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if details:
            self.status["details"] = dict(details)
        self.status["code"] = code

    def body(self) -> bytes:
        """As an HTTP answer's body."""
        return orjson.dumps(self.status) + b"\n"

    def line(self) -> bytes:
        """As a line of a watch."""
        return orjson.dumps({"type": "ERROR", "object": self.status}) + b"\n"


def _details(kind: Kind, name: str = "") -> dict[str, Any]:
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in details.items() if value}


def not_found(kind: Kind, name: str) -> Refusal:
    """404: no such object."""
    return Refusal(404, "NotFound", f'{kind.qualified} "{name}" not found', details=_details(kind, name))


def already_exists(kind: Kind, name: str) -> Refusal:
    """409: the name is taken."""
    return Refusal(409, "AlreadyExists", f'{kind.qualified} "{name}" already exists', details=_details(kind, name))


def conflict(kind: Kind, name: str) -> Refusal:
    """409: written on an older version than the present one."""
    text = (
        f'Operation cannot be fulfilled on {kind.qualified} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return Refusal(409, "Conflict", text, details=_details(kind, name))


def invalid(what: str, group: str, kind: str, field: str, sentence: str, *, reason: str, name: str = "") -> Refusal:
    """422: a field cannot be so.

    Args:
        what: the message's subject, such as ``TenantControlPlane.kamaji.clastix.io``.
        group: API group of what is invalid.
        kind: its kind.
        field: path of the field.
        sentence: what is wrong.
        reason: the cause's CamelCase word.
        name: the object's name.
    """
    causes = [{"reason": reason, "message": sentence, "field": field}]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    text = f'{what} "{name}" is invalid: {field}: {sentence}'
    return Refusal(422, "Invalid", text, details={key: value for key, value in details.items() if value})


def bad_request(message: str) -> Refusal:
    """400."""
    return Refusal(400, "BadRequest", message)


def unauthorized() -> Refusal:
    """401: no token, or one that is not (any more) good."""
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(kind: Kind, verb: str, namespace: str | None, name: str = "", user: str = "simulated") -> Refusal:
    """403: no rule allows it."""
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    subject = f'{kind.qualified} "{name}"' if name else kind.qualified
    text = (
        f'{subject} is forbidden: User "{user}" cannot {verb} resource "{kind.plural}" '
        f'in API group "{kind.group}" {where}'
    )
    return Refusal(403, "Forbidden", text, details=_details(kind, name), headers={"X-Content-Type-Options": "nosniff"})


def terminating(kind: Kind, namespace: str, name: str) -> Refusal:
    """403: nothing new in a namespace that is going."""
    cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated"}
    text = (
        f'{kind.qualified} "{name}" is forbidden: unable to create new content in namespace {namespace} '
        "because it is being terminated"
    )
    details = _details(kind, name) | {"causes": [cause | {"field": "metadata.namespace"}]}
    return Refusal(403, "Forbidden", text, details=details)


def expired(message: str, *, continue_: str | None = None) -> Refusal:
    """410: that version is forgotten."""
    return Refusal(410, "Expired", message, continue_=continue_)


def too_large(asked: int, current: int) -> Refusal:
    """504: a version that this server has not reached."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    return Refusal(504, "Timeout", text, details=details, headers={"Retry-After": "1"})
