"""Prepares text for PostgreSQL: writes JSON, and refuses what PostgreSQL cannot store."""

from collections.abc import Mapping
from typing import Any

import orjson

from pgsched.domain.json_values import encode_json
from pgsched.errors import InvalidInput, InvalidPayload


def check_text(name: str, value: str | None) -> None:
    """Raises InvalidInput for a value that is not text, and for text that PostgreSQL cannot store."""
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidInput(f"{name} cannot be {value!r:.80}: write a string")
    if "\x00" in value:
        raise InvalidInput(f"{name} contains a NUL character: leave out \\u0000, which PostgreSQL cannot store")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} contains half of a surrogate pair: write the whole character") from None


def check_texts(parameters: Mapping[str, Any]) -> None:
    """Checks all text parameters of a statement."""
    for name, value in parameters.items():
        if isinstance(value, str):
            check_text(name, value)


def check_no_bytes(name: str, value: Any) -> None:
    """Raises InvalidInput if the value contains bytes. JSON would encode them as base64, which only payloads allow."""
    if isinstance(value, bytes | bytearray | memoryview):
        raise InvalidInput(f"{name} cannot contain {value!r:.80}: write a string")
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        check_no_bytes(name, one)


def json_of(settings: Mapping[str, Any]) -> str:
    """Returns the settings of a client, a queue or the installation as JSON. Raises InvalidInput if JSON cannot
    represent them, or if they contain a NUL character."""
    try:
        text = orjson.dumps(dict(settings)).decode()
    except (TypeError, orjson.JSONEncodeError) as error:
        raise InvalidInput(f"the settings cannot be written as JSON: {error}") from None
    if "\\u0000" in text:
        raise InvalidInput("the settings contain a NUL character: leave out \\u0000, which PostgreSQL cannot store")
    return text


def encode(value: Any, name: str) -> bytes:
    """Returns the value as JSON. Raises InvalidPayload if JSON cannot represent it."""
    try:
        return encode_json(value)
    except TypeError as error:
        raise InvalidPayload(f"{name} cannot be written as JSON: {error}") from None
