"""A kubeconfig for a simulated server."""

import os
from pathlib import Path

import orjson

__all__ = ["write_kubeconfig"]

_OWNER_ONLY = 0o600


def write_kubeconfig(path: Path, url: str, token: str | None) -> Path:
    """Write a kubeconfig (JSON is YAML) that only its owner can read.

    Args:
        path: the file; what is there is replaced.
        url: the server.
        token: bearer token, None for none.
    """
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "simulated",
        "clusters": [{"name": "simulated", "cluster": {"server": url}}],
        "users": [{"name": "simulated", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "simulated", "context": {"cluster": "simulated", "user": "simulated"}}],
    }
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY), "wb") as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    return path
