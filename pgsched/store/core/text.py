"""Text on its way to PostgreSQL: JSON is written, and what it cannot store is refused."""

from collections.abc import Mapping
from typing import Any

import orjson

from pgsched.domain.json_values import encode_json
from pgsched.errors import InvalidInput, InvalidPayload


def check_text(name: str, value: str | None) -> None:
    """Raises InvalidInput for what is no text, and for text that PostgreSQL cannot store."""
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is {value!r:.80}: write text")
    if "\x00" in value:
        raise InvalidInput(f"{name} contains a NUL character: leave \\u0000 out, PostgreSQL cannot store it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} contains half of a surrogate pair: write the whole character") from None


def check_texts(parameters: Mapping[str, Any]) -> None:
    """The same for all that a statement is given."""
    for name, value in parameters.items():
        if isinstance(value, str):
            check_text(name, value)


def check_no_bytes(name: str, value: Any) -> None:
    """Raises InvalidInput for bytes, which JSON has as base64: in a payload they may be meant so, and nowhere else."""
    if isinstance(value, bytes | bytearray | memoryview):
        raise InvalidInput(f"{name} has {value!r:.80}: write text")
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        check_no_bytes(name, one)


def json_of(settings: Mapping[str, Any]) -> str:
    """The settings of a client, a queue or the installation as text. Raises InvalidInput."""
    try:
        text = orjson.dumps(dict(settings)).decode()
    except (TypeError, orjson.JSONEncodeError) as error:
        raise InvalidInput(f"what is to be set cannot be written as JSON: {error}") from None
    if "\\u0000" in text:
        raise InvalidInput("what is to be set contains a NUL character: leave \\u0000 out, PostgreSQL cannot store it")
    return text


def encode(value: Any, name: str) -> bytes:
    """JSON. Raises InvalidPayload for what JSON has no word for."""
    try:
        return encode_json(value)
    except TypeError as error:
        raise InvalidPayload(f"{name} cannot be written as JSON: {error}") from None
