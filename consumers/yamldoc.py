"""YAML with places: every key and value knows its line, and a key given twice is an error.

PyYAML silently lets the last of two equal keys win, and its values have forgotten where they stood; a person who
mends a subscription wants the line.
"""

from pathlib import Path
from typing import Any

import yaml

from kamaji_events.errors import SettingsError

__all__ = ["Place", "YamlDocument"]

Place = tuple[str | int, ...]
"""A path into the document: keys of mappings and positions in lists."""


def spelled(place: Place) -> str:
    """``("subscriptions", 0, "sink")`` as ``subscriptions[0].sink``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


class YamlDocument:
    """One YAML file.

    Attributes:
        name: the file, as errors name it.
        value: the document as dicts, lists and scalars.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._lines: dict[Place, int] = {}
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
            self.value: Any = self._read(root, ()) if root is not None else None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = f":{mark.line + 1}" if mark is not None else ""
            raise SettingsError(f"{name}{line}: not YAML: {error.problem or 'cannot be read'}") from error
        except yaml.YAMLError as error:
            raise SettingsError(f"{name}: not YAML: {' '.join(str(error).split())}") from error

    @classmethod
    def open(cls, path: Path) -> "YamlDocument":
        """Read a file.

        Raises:
            SettingsError: it is missing, unreadable or no YAML.
        """
        try:
            return cls(str(path), path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"{path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise SettingsError(f"{path}: not UTF-8 text") from error

    def where(self, place: Place) -> str:
        """``file:line: path`` of the nearest place that the document really has."""
        known = place
        while known and known not in self._lines:
            known = known[:-1]
        line = self._lines.get(known)
        return f"{self.name}{f':{line}' if line else ''}: {spelled(place)}".rstrip(": ")

    def _read(self, node: yaml.Node, place: Place) -> Any:
        self._lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self._read(item, (*place, number)) for number, item in enumerate(node.value)]
        return yaml.SafeLoader("").construct_object(node)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            here = (*place, key)
            line = key_node.start_mark.line + 1
            if key in found:
                raise SettingsError(
                    f"{self.name}:{line}: {spelled(here)}: the key is given twice, "
                    f"first in line {self._lines[here]}; keep one"
                )
            self._lines[here] = line
            found[key] = self._read(value_node, here)
        return found
