"""Writes kubeconfigs for tests."""

import json
from pathlib import Path
from typing import Any

__all__ = ["kubeconfig", "plugin"]


def kubeconfig(
    folder: Path, server: str, user: dict[str, Any] | None = None, *, name: str = "config", **cluster: object
) -> Path:
    """A kubeconfig with one context ``here``; JSON is YAML."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u" if user is not None else ""}}],
        "users": [{"name": "u", "user": user}] if user is not None else [],
    }
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def plugin(folder: Path, script: str) -> dict[str, Any]:
    """A user with an exec plug-in: a shell script."""
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return {"exec": {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1"}}
