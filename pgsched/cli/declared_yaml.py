"""Reads YAML files that declare jobs."""

import re
from collections.abc import Hashable
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import yaml

from pgsched.errors import InvalidInput


def jobs_in(file: Path) -> Any:
    """Returns the value of ``jobs`` in the file. Raises InvalidInput if the file cannot be read."""
    try:
        found = _loaded(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"cannot read {file}: {error.strerror}") from error
    except RecursionError:
        raise InvalidInput(f"{file} is nested too deeply: use fewer levels") from None
    except (yaml.YAMLError, ValueError, KeyError) as error:  # the last two if a tag does not match its value
        raise InvalidInput(f"{file} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict) or found.keys() != {"jobs"}:
        raise InvalidInput(f"{file} must be a mapping with jobs and nothing else; settings belong in pgsched.toml")
    return found["jobs"]


def _loaded(text: str) -> Any:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is not None and _written_out(node, {}) > len(text) + 16 * 1024 * 1024:
            raise ValueError("its aliases expand to more than 16 MiB, or refer to themselves: write out the values")
        return None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


def _written_out(node: yaml.Node, known: dict[int, float]) -> float:
    """Returns the length of a node with all aliases expanded; infinite if the node contains an alias for itself."""
    if id(node) not in known:
        known[id(node)] = inf
        parts = chain(*node.value) if isinstance(node, yaml.MappingNode) else node.value
        is_text = isinstance(node, yaml.ScalarNode)
        known[id(node)] = 1 + (len(node.value) if is_text else sum(_written_out(part, known) for part in parts))
    return known[id(node)]


class _Loader(yaml.SafeLoader):
    """Reads the core schema of YAML 1.2, in which ``no``, ``12:30`` and ``2026-03-01`` are text, and 010 is ten. Also
    reads the merge key ``<<`` of YAML 1.1. Refuses other tags and duplicate names in a mapping."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  PyYAML adds to it
    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        tag: construct
        for tag, construct in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in ("null", "bool", "float", "str", "seq", "map")
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set[str]()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in (_TEXT, _MERGE):
                raise yaml.constructor.ConstructorError(None, None, "a name must be text: quote it", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} occurs twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_whole_number(self, node: yaml.ScalarNode) -> int:
        text = node.value
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


_TEXT, _MERGE, _INTEGER = (f"tag:yaml.org,2002:{name}" for name in ("str", "merge", "int"))
_RESOLVED = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+0123456789.")),
    "merge": (r"<<", ["<"]),
}
for _name, (_pattern, _first) in _RESOLVED.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), _first)
_Loader.add_constructor(_INTEGER, _Loader.construct_whole_number)
