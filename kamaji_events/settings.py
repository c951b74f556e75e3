"""Settings that both services share, and how all settings are found.

A value is looked for in this order, the first one wins:

1. a flag of the command line;
2. the environment: ``KAMAJI_EVENTS_<NAME>``, groups joined by two underscores (``KAMAJI_EVENTS_LIMITS__UPGRADE``);
3. for a secret, the file that ``KAMAJI_EVENTS_<NAME>_FILE`` names;
4. the YAML file of ``--config`` or ``KAMAJI_EVENTS_CONFIG``;
5. the default.

``AMQP_URL`` (and ``AMQP_URL_FILE``) is understood as well as ``KAMAJI_EVENTS_AMQP_URL``. What cannot be used is told
in one line that names the variable, or the file and key, and the cure.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from kamaji_events.settings_sources import PREFIX, Layer, describe_problem, environment, flags, yaml_file

__all__ = ["Settings"]


class Settings(BaseSettings):
    """What every service needs. A service's own settings subclass this; read them with ``load``."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        validate_default=True,
    )

    amqp_url: SecretStr = Field(default=SecretStr("amqp://guest:guest@127.0.0.1:5672/"))
    """RabbitMQ: amqp:// or amqps://, user, password, host, port and vhost. May also stand in AMQP_URL."""
    prefix: str = Field(default="kamaji", pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$")
    """First word of every exchange and queue; another one is another installation on the same vhost."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severity that is logged."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """Lines for people, JSON for machines, or the one that suits standard error (auto)."""
    health_host: str = "0.0.0.0"  # noqa: S104 - probes come from outside the pod
    """Address on which /livez, /readyz and /metrics answer."""
    health_port: int = Field(default=8080, ge=0, le=65535)
    """Port of /livez, /readyz and /metrics; 0 takes a free one and logs it."""

    @field_validator("amqp_url")
    @classmethod
    def _is_amqp(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value().startswith(("amqp://", "amqps://")):
            return value
        raise ValueError("must start with amqp:// or amqps://, e.g. amqp://user:password@host:5672/vhost")

    @classmethod
    def settings_customise_sources(  # noqa: D102 - pydantic-settings' own hook
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # `load` reads the sources itself, so that an error can name the one it came from.
        return (init_settings,)

    @classmethod
    def load(cls, *, config: Path | None = None, environ: Mapping[str, str] | None = None, **given: Any) -> Self:
        """Find every setting.

        Args:
            config: the YAML file of ``--config``; None looks at ``KAMAJI_EVENTS_CONFIG``.
            environ: the environment; None is the process's own.
            **given: values of flags by field name; None means that the flag was not given.

        Raises:
            SettingsError: a value, a key or a file cannot be used; the text names it and the cure.
        """
        env = os.environ if environ is None else environ
        file = config or (Path(env[f"{PREFIX}CONFIG"]) if env.get(f"{PREFIX}CONFIG") else None)
        layers: list[Layer] = [yaml_file(cls, file)] if file else []
        layers += [*environment(cls, env), flags(given)]
        values: dict[str, Any] = {}
        for layer in layers:
            values = _merged(values, layer.values)
        try:
            return cls(**values)
        except ValidationError as error:
            raise describe_problem(cls, error, layers) from None

    def summary(self) -> dict[str, Any]:
        """Every setting for the start's log line; of a secret only whether it is there."""
        return {name: _shown(getattr(self, name)) for name in type(self).model_fields}


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` on top of ``base``, group by group."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _shown(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return bool(value.get_secret_value())
    fields = getattr(type(value), "model_fields", None)
    if fields is not None:
        return {name: _shown(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(key): _shown(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(item) for item in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
