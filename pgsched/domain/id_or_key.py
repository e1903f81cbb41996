"""Names jobs and executions by id or by key.

A text in the form of a UUID is an id, and any other is a key. A key that looks like an id, or itself begins with
``key:``, is written with the prefix ``key:``.
"""

import re
from uuid import UUID

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_PREFIX = "key:"


def id_or_key(text: str) -> UUID | str:
    """Returns the id that a text represents, or the key that it names."""
    if _ID.fullmatch(text):
        return UUID(text)
    return text.removeprefix(_PREFIX)


def as_key(key: str) -> str:
    """Returns the text that names a key, whatever the key looks like."""
    return f"{_PREFIX}{key}"
