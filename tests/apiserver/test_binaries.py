"""Finding the server's binaries: where they are looked for, and what happens when there are none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apiserver.binaries import BinariesMissing, build, find

_HERE = Path(__file__).parent
_ONE = "test_a_service_accounts_own_token_is_known_and_has_no_rights"


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with neither binaries nor Go; gives its PATH's only folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return folder


def _program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_those_of_kubebuilder_come_first(nothing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBEBUILDER_ASSETS before PATH; one of each place will do as well."""
    etcd, _, apiserver = (
        _program(nothing, "etcd"),
        _program(nothing, "kube-apiserver"),
        _program(tmp_path / "assets", "kube-apiserver"),
    )
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    found = find()

    assert found is not None
    assert (found.etcd, found.apiserver) == (etcd, apiserver)


@pytest.mark.usefixtures("nothing")
def test_without_binaries_and_go_it_is_said_what_to_do() -> None:
    """The cure is named: Go, or what setup-envtest fetches."""
    assert find() is None
    with pytest.raises(BinariesMissing, match=r"no etcd in KUBEBUILDER_ASSETS or PATH.*install Go.*setup-envtest"):
        build()


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize(("ci", "outcome", "code"), [("true", "1 error", 1), ("", "1 skipped", 0)])
def test_ci_fails_where_a_developers_machine_skips(ci: str, outcome: str, code: int) -> None:
    """In CI a missing server is an error; elsewhere the tests are skipped with the command that builds it."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(_HERE / "test_cluster_itself.py"),
        "-k",
        _ONE,
    ]
    environment = {**os.environ, "CI": ci}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=_HERE.parent.parent
    )

    assert outcome in done.stdout
    assert done.returncode == code
    assert ("install Go" if ci else "tests/apiserver/build") in done.stdout


def test_a_build_that_fails_is_told(nothing: Path) -> None:
    """Go's own output stands above; nothing half built is taken for a binary later."""
    go = _program(nothing, "go")
    go.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(BinariesMissing, match="go build of etcd v3"):
        build()

    assert find() is None
