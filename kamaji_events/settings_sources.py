"""Where settings come from: layers of values, each of which can name where a value of it stands."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource

from kamaji_events.errors import SettingsError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["PREFIX", "Layer", "describe_problem", "environment", "flags", "yaml_file"]

PREFIX = "KAMAJI_EVENTS_"
"""Of every environment variable."""

_ALSO = {"amqp_url": "AMQP_URL"}
"""A field's second name in the environment."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one place."""

    values: Mapping[str, Any]
    place: Mapping[str, str]
    """For each top field: what to call it, e.g. ``KAMAJI_EVENTS_CLUSTER`` or ``publisher.yaml: cluster``."""
    joint: str
    """What stands between the names of nested fields."""

    def names(self, path: tuple[str, ...]) -> str | None:
        """What to call the value at ``path``; None when it is not from here."""
        if not path or path[0] not in self.values:
            return None
        here: Any = self.values
        for step in path:
            if not isinstance(here, Mapping) or step not in here:
                break  # what is missing inside a group is told by the group's layer too
            here = here[step]
        inner = [step.upper() if self.joint == "__" else step for step in path[1:]]
        return self.joint.join((self.place.get(path[0], path[0]), *inner))


def flags(given: Mapping[str, Any]) -> Layer:
    """Values of the command line; None is one that was not given."""
    values = {key: value for key, value in given.items() if value is not None}
    return Layer(values, {key: f"--{key.replace('_', '-')}" for key in values}, ".")


def yaml_file(settings: type[BaseSettings], path: Path) -> Layer:
    """Values of a YAML file.

    Raises:
        SettingsError: it cannot be read, is no YAML mapping, or has a key that is no setting.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"settings file {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {path}: not YAML: {' '.join(str(error).split())}") from error
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise SettingsError(f"settings file {path}: write 'key: value' lines, this is a {type(content).__name__}")
    values = {str(key): value for key, value in content.items()}
    for key in values:
        if key not in settings.model_fields:
            raise SettingsError(f"settings file {path}: unknown key {key!r}{_near(key, list(settings.model_fields))}")
    return Layer(values, {key: f"settings file {path}: {key}" for key in values}, ".")


def environment(settings: type[BaseSettings], environ: Mapping[str, str]) -> Iterator[Layer]:
    """Values of secret files, then of variables.

    Raises:
        SettingsError: a secret's file cannot be read, or a list's JSON is broken.
    """
    yield _secret_files(settings, environ)
    values = _Variables(settings, environ)()
    place = {}
    for name in settings.model_fields:
        variable = f"{PREFIX}{name.upper()}"
        second = _ALSO.get(name)
        if name not in values and second and environ.get(second):
            values[name], variable = environ[second], second
        place[name] = variable
    yield Layer(values, place, "__")


def _secret_files(settings: type[BaseSettings], environ: Mapping[str, str]) -> Layer:
    values: dict[str, Any] = {}
    place: dict[str, str] = {}
    for name, field in settings.model_fields.items():
        if not _is_secret(field):
            continue
        for variable in (f"{PREFIX}{name.upper()}_FILE", f"{_ALSO.get(name, '')}_FILE"):
            if variable != "_FILE" and environ.get(variable) and name not in values:
                values[name], place[name] = _content(variable, environ[variable]), variable
    return Layer(values, place, "__")


def _is_secret(field: FieldInfo) -> bool:
    return "SecretStr" in str(field.annotation) or field.annotation is SecretStr


def _content(variable: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise SettingsError(f"{variable}: cannot read {path}: {reason}") from error


class _Variables(EnvSettingsSource):
    """The environment; lists may be written with commas as well as in JSON."""

    def __init__(self, settings: type[BaseSettings], environ: Mapping[str, str]) -> None:
        # An empty variable means "not set": charts and compose files write such.
        self._given = {key.lower(): value for key, value in environ.items() if value != ""}
        super().__init__(settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._given

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:  # noqa: ARG002
        text = str(value).strip()
        if not text.startswith(("[", "{")):
            return [part.strip() for part in text.split(",") if part.strip()]
        try:
            return json.loads(text)
        except ValueError as error:
            raise SettingsError(f"{PREFIX}{field_name.upper()}: not JSON: {error}") from error


def describe_problem(settings: type[BaseSettings], error: ValidationError, layers: list[Layer]) -> SettingsError:
    """One line on what pydantic found: each value by the name of its place, with the cure."""
    told = [_told(settings, problem, layers) for problem in error.errors(include_url=False, include_input=False)]
    return SettingsError("; ".join(dict.fromkeys(told)))


def _told(settings: type[BaseSettings], problem: "ErrorDetails", layers: list[Layer]) -> str:
    path = tuple(str(step) for step in problem["loc"])
    name = next((found for layer in reversed(layers) if (found := layer.names(path))), None)
    if name is None:
        name = f"{PREFIX}{'__'.join(path).upper()} (or --{path[0].replace('_', '-')})" if path else settings.__name__
    if problem["type"] == "missing":
        description = settings.model_fields[path[0]].description if path[0] in settings.model_fields else None
        return f"{name} is missing" + (f": {description.splitlines()[0].rstrip('.')}" if description else "")
    if problem["type"] == "extra_forbidden":
        return f"{name} is no setting{_near(path[-1], list(settings.model_fields)) if len(path) == 1 else ''}"
    return f"{name}: {problem['msg'].removeprefix('Value error, ')}"


def _near(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else f"; known are: {', '.join(sorted(known))}"
