"""The two binaries that the tests against a real API server need: found, or built from Go modules.

They are looked for in ``KUBEBUILDER_ASSETS`` (where setup-envtest puts them), on PATH, then in our own cache outside
of the checkout, whose folders are named by version and by a hash of what was built. Building takes about 10 minutes on
two cores, once for each version.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Binaries", "BinariesMissing", "build", "find"]

_SOURCES = Path(__file__).parent / "go"
_VERSIONED = {"etcd": "go.etcd.io/etcd/server/v3", "kube-apiserver": "k8s.io/kubernetes"}
"""Each binary, and the module whose version is its own."""
_ETCD, _APISERVER = _VERSIONED


class BinariesMissing(Exception):  # noqa: N818 - says what is the matter, as the project's own errors do
    """etcd or kube-apiserver can neither be found nor built; the message names the cure."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where the executables are."""

    etcd: Path
    apiserver: Path


def find() -> Binaries | None:
    """The binaries that are there already, or None."""
    etcd, apiserver = _found(_ETCD), _found(_APISERVER)
    return Binaries(etcd, apiserver) if etcd and apiserver else None


def build() -> Binaries:
    """Find the binaries, and build those that are not there.

    Raises:
        BinariesMissing: no Go, or the build failed.
    """
    return Binaries(etcd=_found(_ETCD) or _built(_ETCD), apiserver=_found(_APISERVER) or _built(_APISERVER))


def _found(name: str) -> Path | None:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    places = [Path(assets) / name] if assets else []
    on_path = shutil.which(name)
    places += [Path(on_path)] if on_path else []
    return next((place for place in [*places, _cached(name)] if os.access(place, os.X_OK)), None)


def _version(name: str) -> str:
    text = (_SOURCES / name / "go.mod").read_text()
    match = re.search(rf"{re.escape(_VERSIONED[name])} (v\S+)", text)
    if match is None:
        raise BinariesMissing(f"{_SOURCES / name / 'go.mod'} does not require {_VERSIONED[name]}")
    return match[1]


def _cached(name: str) -> Path:
    content = b"".join((_SOURCES / name / file).read_bytes() for file in ("go.mod", "go.sum", "main.go"))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = f"{name}-{_version(name)}-{hashlib.sha256(content).hexdigest()[:12]}"
    return cache / "kamaji-events" / "apiserver" / key / name


def _built(name: str) -> Path:
    place = _cached(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    with _locked(place.parent / ".lock"):
        if not place.exists():
            _compile(name, place)
    return place


def _compile(name: str, place: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise BinariesMissing(
            f"no {name} in KUBEBUILDER_ASSETS or PATH, and no Go to build it with: install Go, or run setup-envtest "
            "and point KUBEBUILDER_ASSETS to what it fetched"
        )
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        out = Path(folder) / name
        command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", _flags(name), "-o", str(out), "."]
        done = subprocess.run(command, cwd=_SOURCES / name, env=_environment(), check=False)
        if done.returncode:
            raise BinariesMissing(f"go build of {name} {_version(name)} failed (see its output above)")
        out.rename(place)


def _flags(name: str) -> str:
    """Without symbols: a fifth of the size less to write. The API server's ``/version`` is set at link time."""
    if name == _ETCD:
        return "-s -w"
    version = _version(name)
    major, minor, _ = version.removeprefix("v").split(".", 2)
    package = "k8s.io/component-base/version"
    return f"-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"


def _environment() -> dict[str, str]:
    """No C compiler and no downloaded toolchain; the modules stay as go.sum pins them."""
    return {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One build at a time, whoever asks."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
