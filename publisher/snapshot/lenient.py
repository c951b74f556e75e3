"""The tolerant reading: what has the shape is kept, what has not is as good as absent.

Used only when the typed decoding refuses a line: null and strings where objects should be, numbers as strings,
shapes of releases to come. One wrong field costs that field, never the object.
"""

from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import orjson
from msgspec import Raw, Struct, structs

__all__ = ["lenient"]


def lenient(value: Any, shape: type[Struct]) -> Any:
    """Read decoded JSON as a struct, as far as it goes; None when it is no object."""
    return _read(value, shape)


@cache
def _fields(shape: type[Struct]) -> tuple[tuple[str, Any], ...]:
    return tuple((item.name, item.type) for item in structs.fields(shape))


def _read(value: Any, shape: Any) -> Any:
    if shape is Raw:
        return Raw(orjson.dumps(value))
    origin = get_origin(shape)
    if origin in (UnionType, Union):
        return _read(value, next(item for item in get_args(shape) if item is not type(None)))
    if origin is list:
        return _list(value, get_args(shape)[0])
    if origin is dict:
        return _dict(value, get_args(shape)[1])
    if issubclass(shape, Struct):
        return _struct(value, shape)
    return _scalar(value, shape)


def _struct(value: Any, shape: type[Struct]) -> Any:
    if not isinstance(value, dict):
        return None
    read = {name: _read(value[name], kind) for name, kind in _fields(shape) if name in value}
    return shape(**read)


def _list(value: Any, item: Any) -> list[Any] | None:
    if not isinstance(value, list):
        return None
    read = (_read(entry, item) for entry in value)
    return [entry for entry in read if entry is not None]


def _dict(value: Any, item: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    read = {key: _read(entry, item) for key, entry in value.items()}
    return {key: entry for key, entry in read.items() if entry is not None}


def _scalar(value: Any, shape: Any) -> Any:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return None
