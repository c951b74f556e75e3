"""Settings of a sink: a strict model, and one line on what is wrong with given ones."""

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from kamaji_events.errors import SettingsError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["SinkSettings", "settings_error"]


class SinkSettings(BaseModel):
    """Base of a sink's settings: camelCase in files, unknown keys refused, inputs never shown in errors."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


def settings_error(model: type[BaseModel], error: ValidationError, *, where: str, name: str) -> SettingsError:
    """One line that names the place, the key and the cure of everything that is wrong.

    Args:
        model: the settings' class.
        error: what pydantic found.
        where: the file and the subscription.
        name: the sink's name: the first part of each key.
    """
    problems = error.errors(include_url=False, include_input=False)
    told = dict.fromkeys(f"{_key(name, problem['loc'])}: {_cure(model, problem)}" for problem in problems)
    return SettingsError(f"{where}: {'; '.join(told)}")


def _key(name: str, path: tuple[int | str, ...]) -> str:
    return name + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _cure(model: type[BaseModel], problem: "ErrorDetails") -> str:
    path = problem["loc"]
    if problem["type"] == "extra_forbidden":
        known = sorted(_keys(model, path[:-1]))
        near = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.6)
        return f"unknown key; did you mean {near[0]!r}?" if near else f"unknown key; known are {', '.join(known)}"
    if problem["type"] == "missing":
        return "is missing"
    if problem["type"] in ("model_type", "model_attributes_type"):
        return f"write keys and values: {', '.join(sorted(_keys(model, path)))}"
    return problem["msg"].removeprefix("Value error, ")


def _keys(model: type[BaseModel], path: tuple[int | str, ...]) -> set[str]:
    """The keys that are known at a path."""
    here = {model}
    for step in path:
        if isinstance(step, str):
            here = {found for one in here for found in _below(one, step)} or here
    return {field.alias or name for one in here for name, field in one.model_fields.items()}


def _below(model: type[BaseModel], key: str) -> Iterator[type[BaseModel]]:
    for name, field in model.model_fields.items():
        if key in (name, field.alias):
            yield from _models(field.annotation)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
