"""Put a fault into modules: into functions that are imported already, or into what is imported from now on."""

import ast
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["Faulty", "functions_of", "module_name", "replace"]


def module_name(path: Path) -> str:
    """The dotted name of a file of the project."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def functions_of(module: ModuleType) -> dict[tuple[str, int], FunctionType]:
    """The functions that a module defines, by qualified name and first line."""
    return {
        (function.__qualname__, function.__code__.co_firstlineno): function
        for function in _functions(vars(module), module)
    }


def _functions(names: Any, module: ModuleType) -> Iterator[FunctionType]:
    for value in list(names.values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield from _functions(vars(value), module)
            continue
        inner = [getattr(value, name, None) for name in ("fget", "fset", "__func__", "func")]
        for found in (value, *inner):
            function = found
            while hasattr(function, "__wrapped__"):
                function = function.__wrapped__
            if isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__:
                yield function


def replace(function: FunctionType, tree: ast.Module) -> bool:
    """Give a live function the code of its faulty twin: whoever imported it, however, now calls that."""
    old = function.__code__
    whole = compile(tree, old.co_filename, "exec")
    for code in _codes(whole):
        same = (code.co_qualname, code.co_firstlineno) == (old.co_qualname, old.co_firstlineno)
        if same and code.co_freevars == old.co_freevars:
            function.__code__ = code
            return True
    return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class Faulty(MetaPathFinder, Loader):
    """Imports one module out of a tree instead of its file.

    Args:
        name: the module.
        path: its file.
        tree: what it is to be.
    """

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name = name
        self._path = path
        self._tree = tree

    def install(self) -> None:
        """Go before every other finder."""
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module as its own finder sees it, with this loader."""
        if fullname != self._name:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = self
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the faulty tree."""
        exec(compile(self._tree, str(self._path.resolve()), "exec"), vars(module))  # noqa: S102 - that is the point
