"""The settings of a client or queue as JSON, with the checks that SQL cannot make."""

from collections.abc import Mapping
from typing import Any

import orjson

from pgsched.domain.policy import parse_defaults
from pgsched.errors import InvalidInput
from pgsched.store.core.text import check_text


def changes_of(changes: Mapping[str, Any]) -> str:
    """The JSON text. Raises InvalidInput, and InvalidOptions for invalid default options."""
    try:
        text = orjson.dumps(dict(changes)).decode()
        options = changes.get("options")
        if isinstance(options, Mapping):
            parse_defaults(orjson.dumps(dict(options)))
    except (TypeError, orjson.JSONEncodeError) as error:
        raise InvalidInput(f"what is to be set cannot be written as JSON: {error}") from None
    check_text("what is to be set", text)
    if "\\u0000" in text:
        raise InvalidInput("what is to be set contains a NUL character: leave \\u0000 out, PostgreSQL cannot store it")
    return text
