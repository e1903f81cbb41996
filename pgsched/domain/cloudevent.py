"""What makes an execution a CloudEvent 1.0: attributes beside the payload, which stays what it is (binary mode)."""

import re
from dataclasses import dataclass
from typing import Any

from pgsched.domain.execution import ClaimedExecution, instant_text, uuid_text
from pgsched.domain.headers import shown
from pgsched.errors import InvalidOptions

ATTRIBUTES = ("specversion", "id", "source", "type", "time", "subject")
_WORD = re.compile(r"[A-Za-z0-9!#$&'()*+,./:;=?@_~-]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudEvent:
    """The attributes that its caller names; the others are the execution's."""

    type: str
    source: str

    def attributes(self, execution: ClaimedExecution) -> list[tuple[str, str]]:
        """By their names. The id is the same on each attempt: who knows it has had the event."""
        named = [
            ("specversion", "1.0"),
            ("id", uuid_text(execution.id)),
            ("source", self.source),
            ("type", self.type),
            ("time", instant_text(execution.scheduled_for)),
        ]
        return named if execution.key is None else [*named, ("subject", execution.key)]


def parse_cloudevent(key: str, value: Any) -> CloudEvent:
    """Raises InvalidOptions."""
    if not isinstance(value, dict) or value.keys() != {"type", "source"} or not all(map(_is_word, value.values())):
        raise InvalidOptions(
            f'{key} must have a type and a source of at most 200 characters, such as {{"type": "com.example.shop.paid",'
            f' "source": "/shop/orders"}}; it is {shown(value)}'
        )
    return CloudEvent(**value)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None
