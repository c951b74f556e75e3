"""What a recording leaves out, and that a change stays a change."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.redaction import Redactor

_SECRET = "hunter2-of-the-tests"


def _tcp(**deployment: Any) -> dict[str, Any]:
    return {"kind": "TenantControlPlane", "spec": {"controlPlane": {"deployment": deployment}}}


@pytest.mark.parametrize(
    "object_",
    [
        {"kind": "Secret", "data": {"password": _SECRET}, "metadata": {"name": "s"}},
        {"kind": "Secret", "stringData": {"password": _SECRET}},
        {"kind": "ConfigMap", "binaryData": {"kubeconfig": _SECRET}},
        {"items": [{"kind": "Secret", "data": {"password": _SECRET}}]},
        {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": _SECRET}}},
        {"metadata": {"annotations": {"example.com/anything": _SECRET}}},
        {"metadata": {"managedFields": [{"fieldsV1": {"f:spec": {"f:set": {f'v:"--x-token={_SECRET}"': {}}}}}]}},
        {"kind": "DataStore", "spec": {"basicAuth": {"password": {"content": _SECRET}}}},
        {"kind": "DataStore", "spec": {"tlsConfig": {"clientCertificate": {"privateKey": {"content": _SECRET}}}}},
        {"kind": "DataStore", "spec": {"endpoints": [f"https://root:{_SECRET}@db:3306"]}},
        _tcp(additionalContainers=[{"env": [{"name": "PLAIN", "value": _SECRET}]}]),
        _tcp(extraArgs={"apiServer": [f"--oidc-client-secret={_SECRET}"]}),
        _tcp(extraArgs={"kine": ["--db-password", _SECRET]}),
        _tcp(additionalContainers=[{"command": ["sh", "-c", f"serve --api-key {_SECRET} --token={_SECRET}"]}]),
        _tcp(bootToken=_SECRET),
        {"spec": {"note": f"-----BEGIN RSA PRIVATE KEY-----\n{_SECRET}"}},
    ],
)
def test_nothing_that_may_be_a_secret_is_kept(object_: dict[str, Any]) -> None:
    """Wherever a secret can be written into an object, it is not in what comes out."""
    assert _SECRET not in orjson.dumps(Redactor().object(object_)).decode()


def test_what_a_report_needs_is_kept() -> None:
    """Names of Secrets, references, checksums, Kamaji's annotations, labels and who changed what stay as they are."""
    object_ = {
        "metadata": {
            "labels": {"tier": "gold"},
            "annotations": {"kamaji.clastix.io/paused": "true", "deployment.kubernetes.io/revision": "3"},
            "managedFields": [{"manager": "kamaji", "fieldsV1": {"f:spec": {'k:{"name":"x"}': {}}}}],
        },
        "spec": {
            "basicAuth": {"password": {"secretReference": {"name": "db", "namespace": "x", "keyPath": "password"}}},
            "dataStore": "default",
            "controlPlane": {"deployment": {"extraArgs": {"apiServer": ["--token-auth-file=/etc/tokens"], "v": 2}}},
        },
        "status": {
            "kubeconfig": {"admin": {"secretName": "acme-admin-kubeconfig", "checksum": "abc"}},
            "kubeadmPhase": {"bootstrapToken": {"checksum": "def"}},
        },
    }

    assert Redactor().object(object_) == object_


def test_a_carried_annotation_is_kept() -> None:
    """Annotations that events carry must be in the recording, or it would give other events."""
    object_ = {"metadata": {"annotations": {"example.com/cost-centre": "42"}}}

    assert Redactor(keep_annotations=("example.com/cost-centre",)).object(object_) == object_


@given(st.text(), st.text())
def test_equal_stays_equal_and_different_different(one: str, other: str) -> None:
    """Within a recording a stand-in changes exactly when the value does."""
    redactor = Redactor()

    def redacted(value: str) -> dict[str, Any]:
        return redactor.object(_tcp(additionalContainers=[{"env": [{"name": "A", "value": value}]}]))

    assert (redacted(one) == redacted(other)) is (one == other)


def test_two_recordings_cannot_be_compared() -> None:
    """The key is made anew: nobody can learn from one recording whether another holds the same secret."""
    object_ = {"spec": {"password": _SECRET}}

    assert Redactor().object(object_) != Redactor().object(object_)
