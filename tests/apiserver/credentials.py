"""The fixture's own certificate authority, client certificates, and service account tokens signed with its own key."""

import base64
import datetime as dt
import ipaddress
import json
import time
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["AUDIENCE", "ISSUER", "Credentials"]

ISSUER = "https://kubernetes.default.svc.cluster.local"
"""Who the tokens say that they are from, and..."""
AUDIENCE = ISSUER
"""... for whom they are."""
_LEEWAY = 60
"""Seconds that an API server accepts a token beyond its expiry. (What it accepted it also remembers, for 10 s.)"""
_DAY = dt.timedelta(days=1)


class Credentials:
    """Everything that proves who somebody is, as files in one folder.

    Args:
        folder: where the files go; it must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ca_key = ec.generate_private_key(ec.SECP256R1())
        self._accounts_key = ec.generate_private_key(ec.SECP256R1())
        self._ca = self._authority()
        self.ca = self._write("ca.crt", _pem(self._ca))
        """The authority's certificate, of the server and of the clients."""
        self.accounts_key = self._write("accounts.key", _key_pem(self._accounts_key))
        """What signs service account tokens."""

    def _write(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        return path

    def _authority(self) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kamaji-events tests")])
        builder = _builder(name, name, self._ca_key.public_key())
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(self._ca_key.public_key()), False)  # noqa: FBT003
        return builder.add_extension(usage, critical=True).sign(self._ca_key, hashes.SHA256())

    def server(self) -> tuple[Path, Path]:
        """The API server's certificate and key, for 127.0.0.1 and localhost."""
        return self._issue("server", x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))

    def client(self, user: str, *groups: str) -> tuple[Path, Path]:
        """A client's certificate and key: the common name is the user, organizations are groups."""
        names = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        return self._issue(f"client-{user}", x509.Name(names))

    def _issue(self, name: str, subject: x509.Name) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        hosts = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(_LOOPBACK)])
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._ca_key.public_key())
        builder = _builder(subject, self._ca.subject, key.public_key())
        for extension in (hosts, usage, authority, x509.BasicConstraints(ca=False, path_length=None)):
            builder = builder.add_extension(extension, critical=False)
        certificate = builder.sign(self._ca_key, hashes.SHA256())
        return self._write(f"{name}.crt", _pem(certificate)), self._write(f"{name}.key", _key_pem(key))

    def token(self, namespace: str, account: str, uid: str, *, seconds: float) -> str:
        """A token of a service account, as the API server would issue it.

        Args:
            namespace: the account's namespace.
            account: its name.
            uid: its uid: the server compares.
            seconds: how long the server accepts it; 0 for one that has expired.
        """
        now = int(time.time())
        expires = now + int(seconds) - _LEEWAY
        claims = {
            "iss": ISSUER,
            "aud": [AUDIENCE],
            "sub": f"system:serviceaccount:{namespace}:{account}",
            "iat": min(now, expires) - 60,
            "nbf": min(now, expires) - 60,
            "exp": expires,
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": account, "uid": uid}},
        }
        signed = f"{_segment({'alg': 'ES256', 'typ': 'JWT'})}.{_segment(claims)}"
        r, s = decode_dss_signature(self._accounts_key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{_base64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


_LOOPBACK = ipaddress.ip_address("127.0.0.1")


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - _DAY).not_valid_after(now + _DAY)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _segment(content: dict[str, Any]) -> str:
    return _base64(json.dumps(content, separators=(",", ":")).encode())
