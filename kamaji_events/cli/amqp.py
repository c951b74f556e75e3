"""Where RabbitMQ is, for commands that need nothing else: the flag, the environment, a secret's file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from kamaji_events.errors import SettingsError

__all__ = ["DEFAULT_URL", "AmqpUrl", "Prefix", "amqp_url"]

DEFAULT_URL = "amqp://guest:guest@127.0.0.1:5672/"

AmqpUrl = Annotated[
    str | None,
    typer.Option(
        "--amqp-url",
        metavar="URL",
        help="RabbitMQ; better in AMQP_URL or KAMAJI_EVENTS_AMQP_URL_FILE, since others can read command lines.",
    ),
]

Prefix = Annotated[
    str,
    typer.Option("--prefix", metavar="WORD", envvar="KAMAJI_EVENTS_PREFIX", help="First word of exchange and queues."),
]


def amqp_url(flag: str | None = None, environ: Mapping[str, str] | None = None) -> str:
    """The URL, found as ``kamaji_events.settings`` finds it, without its cost.

    Raises:
        SettingsError: it is no AMQP URL, or the file that should hold it cannot be read.
    """
    env = os.environ if environ is None else environ
    name, url = "--amqp-url", flag
    for name in ("--amqp-url", "KAMAJI_EVENTS_AMQP_URL", "AMQP_URL", "KAMAJI_EVENTS_AMQP_URL_FILE", "AMQP_URL_FILE"):
        url = flag if name.startswith("--") else env.get(name)
        if url:
            break
    if not url:
        return DEFAULT_URL
    if name.endswith("_FILE"):
        url = _content(name, url)
    if url.startswith(("amqp://", "amqps://")):
        return url
    raise SettingsError(f"{name}: must start with amqp:// or amqps://, e.g. amqp://user:password@host:5672/vhost")


def _content(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise SettingsError(f"{name}: cannot read {path}: {reason}") from error
