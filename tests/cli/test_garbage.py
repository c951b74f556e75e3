"""What users get wrong: a clear line, an exit code, no traceback."""

import base64
import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.command import kamaji_events
from tests.support.rabbit import fresh

_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: main
clusters: [{{name: main, cluster: {{server: "{server}", insecure-skip-tls-verify: true}}}}]
users: [{{name: main, user: {user}}}]
contexts: [{{name: main, context: {{cluster: main, user: main}}}}]
"""


def _refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """One clear line, whatever was logged before it."""
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in last


def _subscriptions(folder: Path) -> list[str]:
    path = folder / "subs.yaml"
    path.write_text("subscriptions: [{name: all, sink: log}]")
    return ["--subscriptions", str(path), "--health-port", "0"]


def _kubeconfig(folder: Path, server: str = "https://127.0.0.1:1", user: str = "{token: abc}") -> list[str]:
    path = folder / "kubeconfig"
    path.write_text(_KUBECONFIG.format(server=server, user=user))
    return ["--kubeconfig", str(path)]


def _services(folder: Path) -> dict[str, list[str]]:
    return {
        "tail": ["tail"],
        "consumers": ["consumers", "run", *_subscriptions(folder)],
        "publisher": ["publisher", "run", "--cluster", "c", "--health-port", "0", *_kubeconfig(folder)],
    }


def _wrong_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://guest:hush-hush@{rest.rpartition('@')[2]}"


@pytest.mark.broker
@pytest.mark.parametrize("name", ["tail", "consumers", "publisher"])
def test_a_wrong_amqp_password(name: str, rabbit: str, tmp_path: Path) -> None:
    """Where, that the login was refused, and what to check; never the password."""
    done = kamaji_events(*_services(tmp_path)[name], env={"AMQP_URL": _wrong_password(rabbit)})

    _refused(done, 1, "RabbitMQ at ", "ACCESS_REFUSED", "check user, password")
    assert "hush" not in done.stderr


@pytest.mark.broker
@pytest.mark.parametrize("name", ["tail", "consumers", "publisher"])
def test_an_unknown_vhost(name: str, rabbit: str, tmp_path: Path) -> None:
    """The vhost is named."""
    vhost = fresh("nowhere")

    done = kamaji_events(*_services(tmp_path)[name], env={"AMQP_URL": f"{rabbit.rpartition('/')[0]}/{vhost}"})

    _refused(done, 1, vhost, "not found")


def test_no_broker_at_all() -> None:
    """A command that only looks says so and ends."""
    _refused(kamaji_events("tail", env={"AMQP_URL": "amqp://127.0.0.1:1/"}), 1, "127.0.0.1:1", "AMQP_URL")


def test_an_amqp_url_that_is_none(tmp_path: Path) -> None:
    """Each command names the variable."""
    for words in _services(tmp_path).values():
        _refused(kamaji_events(*words, env={"AMQP_URL": "rabbit"}), 2, "AMQP_URL", "amqp://")


def _cluster_commands(folder: Path, *words: str) -> list[list[str]]:
    return [
        ["record", str(folder / "recording.jsonl"), *words],
        ["publisher", "run", "--cluster", "c", "--health-port", "0", *words],
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--kubeconfig", "/nowhere/kubeconfig"], "/nowhere/kubeconfig does not exist"),
        ([], "no cluster to watch"),
    ],
)
def test_a_kubeconfig_that_is_missing(tmp_path: Path, words: list[str], told: str) -> None:
    """The path, and what to give instead."""
    for command in _cluster_commands(tmp_path, *words):
        _refused(kamaji_events(*command, env={"HOME": str(tmp_path)}), 2, told, "--kubeconfig")


def test_a_context_that_does_not_exist(tmp_path: Path) -> None:
    """Those that do are named."""
    for command in _cluster_commands(tmp_path, *_kubeconfig(tmp_path), "--context", "mian"):
        _refused(kamaji_events(*command), 2, "no context 'mian'", "main")


def _expired_user() -> str:
    """A client certificate that ended yesterday."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "someone")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now - timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem = base64.b64encode(certificate.public_bytes(serialization.Encoding.PEM)).decode()
    return f"{{client-certificate-data: {pem}, client-key-data: {base64.b64encode(private).decode()}}}"


def test_a_kubeconfig_that_points_nowhere(tmp_path: Path) -> None:
    """The address and that nothing answers there."""
    done = kamaji_events("record", str(tmp_path / "recording.jsonl"), *_kubeconfig(tmp_path))

    _refused(done, 1, "127.0.0.1:1", "cannot be reached")
    assert not (tmp_path / "recording.jsonl").exists()


class _Refusing(http.server.BaseHTTPRequestHandler):
    """An API server that knows nobody."""

    def do_GET(self) -> None:
        """401."""
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quietly."""


@pytest.fixture
def refusing() -> Iterator[str]:
    """Its address."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_kubeconfig_that_has_expired(tmp_path: Path, refusing: str) -> None:
    """When it expired is told; of a token that it may have."""
    certificate = kamaji_events("record", str(tmp_path / "a"), *_kubeconfig(tmp_path, refusing, _expired_user()))
    token = kamaji_events("record", str(tmp_path / "b"), *_kubeconfig(tmp_path, refusing))

    _refused(certificate, 1, "client certificate", "expired at", "check the kubeconfig")
    _refused(token, 1, "401", "expired", "check the kubeconfig")
    assert "abc" not in token.stderr


@pytest.mark.parametrize("service", ["publisher", "consumers"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("clutser: eu-1", "unknown key 'clutser'"),
        ("log_level: loud", "log_level"),
        ("log_level: [", "not YAML"),
    ],
)
def test_a_settings_file_with_a_mistake(tmp_path: Path, service: str, text: str, told: str) -> None:
    """File and key are named before anything is opened."""
    file = tmp_path / "settings.yaml"
    file.write_text(text)

    done = kamaji_events(service, "run", "--config", str(file))

    _refused(done, 2, str(file), told)


@pytest.mark.parametrize("cluster", ["eu.1", "eu_1", "EU", "", "a" * 41])
def test_a_cluster_name_that_cannot_be_a_word_of_a_key(cluster: str) -> None:
    """Dots and wildcards would break every binding: refused at the start."""
    done = kamaji_events("publisher", "run", env={"KAMAJI_EVENTS_CLUSTER": cluster})

    _refused(done, 2, "KAMAJI_EVENTS_CLUSTER", "lower-case letters, digits")


def test_a_subscriptions_file_that_is_missing() -> None:
    """The file is named."""
    _refused(kamaji_events("consumers", "run", "--subscriptions", "/nowhere/subs.yaml"), 2, "/nowhere/subs.yaml")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tail", "-e", "upgarde.*"], "did you mean 'upgrade."),
        (["tail", "-n", "a.b"], "namespace pattern 'a.b'"),
        (["tail", "--since", "yesterday"], "write a duration"),
    ],
)
def test_a_filter_that_can_match_nothing(words: list[str], told: str) -> None:
    """Told before anything is opened."""
    _refused(kamaji_events(*words), 2, told)
