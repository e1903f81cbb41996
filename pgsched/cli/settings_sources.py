"""Merges the settings from flags, environment and ``pgsched.toml``, in this order of precedence.

A source contains only the settings that are set there. Defaults are filled in once, after the merge.
"""

import difflib
import json
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pgsched.errors import InvalidSettings
from pgsched.settings import JSON_OBJECTS, WITH_PASSWORD, Settings

_PREFIX = "PGSCHED_"
API, API_KEY = "PGSCHED_API", "PGSCHED_API_KEY"
"""Variables that are not settings: the API's address and an API key, for commands that use the API."""
_RESEMBLANCE = 0.8
# Variables that Kubernetes sets in every container for each service, and that Docker sets for each linked container.
_INJECTED = re.compile(
    r"PGSCHED_(?:\w+_)?(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?|ENV_\w+|NAME)"
)
_ADDRESS = re.compile(r"(?:tcp|udp|sctp)://")


def load(
    *,
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    file: Path | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """Merges the three sources. ``defaults`` apply to settings that no source sets. A flag of None counts as not set.

    Raises InvalidSettings for an unknown name in the file, a variable that looks like a misspelt setting, or an invalid
    value.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    merged = dict(defaults or {}) | _from_file(file) | _from_environment(environment) | given
    return Settings(**{name: _convert(name, value) for name, value in merged.items()})


def _from_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidSettings(f"cannot read {file}: {error.strerror}") from error
    except RecursionError:
        raise InvalidSettings(f"{file} is nested too deeply: use fewer levels") from None
    except ValueError as error:  # also raised for invalid UTF-8, and for numbers with thousands of digits
        raise InvalidSettings(f"{file} is not TOML: {error}") from error
    found.pop("jobs", None)  # for pgsched apply
    for name in found:
        _known(name, f"{file}: ")
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns the settings among the environment variables. Not every ``PGSCHED_*`` variable is a setting: a Kubernetes
    service or a linked container named ``pgsched`` adds variables such as ``PGSCHED_PORT=tcp://10.0.0.7:8080``.

    Raises InvalidSettings for a variable that looks like a misspelt setting.
    """
    found = {}
    for variable, value in environment.items():
        if not variable.startswith(_PREFIX) or _is_injected(variable, value):
            continue
        name = variable.removeprefix(_PREFIX).lower()
        if name in _TYPES:
            found[name] = value
        elif near := difflib.get_close_matches(name, _TYPES, n=1, cutoff=_RESEMBLANCE):
            _known(name, f"{variable}: ", f" (did you mean {_PREFIX}{near[0].upper()}?)")
    return found


def unread(environment: Mapping[str, str]) -> list[str]:
    """Returns the ``PGSCHED_*`` variables that are not settings, are not used by commands or tests, and were not
    injected by Kubernetes or Docker."""
    return sorted(
        variable
        for variable, value in environment.items()
        if variable.startswith(_PREFIX)
        and not variable.startswith("PGSCHED_TEST_")
        and variable not in (API, API_KEY)
        and not _is_injected(variable, value)
        and variable.removeprefix(_PREFIX).lower() not in _TYPES
    )


def _is_injected(variable: str, value: str) -> bool:
    return bool(_INJECTED.fullmatch(variable)) or (variable.endswith("_PORT") and bool(_ADDRESS.match(value)))


def _known(name: str, where: str, hint: str = "") -> None:
    if name not in _TYPES:
        settings = ", ".join(sorted(_TYPES))
        raise InvalidSettings(f"{where}there is no setting {name!r}{hint}; the settings are {settings}")


def _convert(name: str, value: Any) -> Any:
    kind = _TYPES[name]
    if name in JSON_OBJECTS and isinstance(value, dict):  # a table in the file
        return json.dumps(value, default=str)
    try:
        if kind is bool:
            return _boolean(value)
        if isinstance(value, bool) or (kind is int and isinstance(value, float)):
            raise ValueError
        if kind is str and not isinstance(value, str | Path):  # such as a list in the file
            raise ValueError
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        given = "invalid" if name in WITH_PASSWORD else repr(value)[:80]
        raise InvalidSettings(f"{name} is {given}; it must be {_KINDS[kind]}") from None


def _boolean(value: Any) -> bool:
    word = str(value).lower()
    if word not in _TRUE + _FALSE:
        raise ValueError
    return word in _TRUE


def _plain(annotation: Any) -> type:
    if isinstance(annotation, types.UnionType):
        annotation = next(kind for kind in typing.get_args(annotation) if kind is not types.NoneType)
    return typing.cast(type, annotation)


_TYPES: dict[str, type] = {field.name: _plain(field.type) for field in fields(Settings)}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_KINDS = {int: "a whole number", float: "a number of seconds", bool: "true or false", str: "text"}
