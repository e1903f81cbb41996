"""Texts that identify a job or an execution, by id or by key.

A text in the form of a UUID is an id; any other text is a key. The prefix ``key:`` marks a key that looks like an id or
itself begins with ``key:``.
"""

import re
from uuid import UUID

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_PREFIX = "key:"


def id_or_key(text: str) -> UUID | str:
    """Returns the id or the key that a text represents."""
    if _ID.fullmatch(text):
        return UUID(text)
    return text.removeprefix(_PREFIX)


def as_key(key: str) -> str:
    """Returns the text that represents a key, even one that looks like an id."""
    return f"{_PREFIX}{key}"
