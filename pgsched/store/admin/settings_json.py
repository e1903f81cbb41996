"""The settings of a client, a queue or the installation as JSON text that PostgreSQL can store."""

from collections.abc import Mapping
from typing import Any

import orjson

from pgsched.errors import InvalidInput
from pgsched.store.core.text import check_text


def changes_of(changes: Mapping[str, Any]) -> str:
    """Raises InvalidInput."""
    try:
        text = orjson.dumps(dict(changes)).decode()
    except (TypeError, orjson.JSONEncodeError) as error:
        raise InvalidInput(f"what is to be set cannot be written as JSON: {error}") from None
    check_text("what is to be set", text)
    if "\\u0000" in text:
        raise InvalidInput("what is to be set contains a NUL character: leave \\u0000 out, PostgreSQL cannot store it")
    return text
