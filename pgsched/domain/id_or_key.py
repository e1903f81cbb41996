"""How a job or an execution is named: by its id, or by its key.

A text in the form of a UUID is an id, and any other is a key. Where a key looks like an id, or begins with ``key:``
itself, ``key:`` stands before it.
"""

import re
from uuid import UUID

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_PREFIX = "key:"


def id_or_key(text: str) -> UUID | str:
    """The id that a text is, or the key that it names."""
    if _ID.fullmatch(text):
        return UUID(text)
    return text.removeprefix(_PREFIX)


def as_key(key: str) -> str:
    """The text that names a key, whatever it looks like."""
    return f"{_PREFIX}{key}"
