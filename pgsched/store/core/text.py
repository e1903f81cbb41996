"""Text on its way to PostgreSQL: JSON is written, and what it cannot store is refused."""

from collections.abc import Mapping
from typing import Any

import orjson

from pgsched.errors import InvalidInput, InvalidPayload


def check_text(name: str, value: str | None) -> None:
    """Raises InvalidInput for text that PostgreSQL cannot store."""
    if value is None:
        return
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


def encode(value: Any, name: str) -> bytes:
    """JSON. Raises InvalidPayload for what JSON has no word for."""
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPayload(f"{name} cannot be written as JSON: {error}; give plain dicts, lists and values") from None
