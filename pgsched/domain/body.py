"""What is sent of a payload where that is not its JSON: a text, a form, or any bytes."""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import loads
from typing import Any
from urllib.parse import urlencode

import orjson

from pgsched.errors import InvalidPayload

FORMATS = {
    "text": "text/plain; charset=utf-8",
    "form": "application/x-www-form-urlencoded",
    "base64": "application/octet-stream",
}
"""Each with the media type that it has where none is given."""
_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")
_FITS = {
    "text": "write a JSON string",
    "form": "write an object of strings, numbers and booleans, or lists of them",
    "base64": "write a JSON string, the base64 of the bytes, without spaces",
}


class _Digits(str):
    """A number as it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How a body is made of a payload, and its media type."""

    format: str
    type: str

    def of(self, payload: bytes) -> bytes:
        """Raises InvalidPayload for one of which no such body can be made."""
        value = loads(payload, parse_float=_Digits, parse_int=_Digits)
        try:
            match self.format:
                case "text" if type(value) is str:
                    return value.encode()
                case "base64" if type(value) is str and len(value) % 4 == 0 and _BASE64.fullmatch(value):
                    return binascii.a2b_base64(value)
                case "form" if type(value) is dict:
                    return urlencode([(name, text) for name, one in value.items() for text in _texts(one)]).encode()
        except (binascii.Error, ValueError):
            pass
        raise InvalidPayload(f"the payload cannot be sent as a body of the format {self.format}; {_FITS[self.format]}")


def _texts(value: Any) -> Iterator[str]:
    """The values of a field of a form. Raises ValueError."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool):
            yield "true" if one else "false"
        elif isinstance(one, str):
            yield one
        else:
            raise ValueError("no value of a form")


def body_of(option: dict[str, str]) -> Body:
    """What the option ``body`` says."""
    return Body(format=option["format"], type=option.get("type", FORMATS[option["format"]]))


def check_body(payload: bytes | None, options: bytes | None) -> None:
    """Raises InvalidPayload where no body can be made of a payload as its options say: no CHECK of the table asks that,
    for each statement would pay for it. What is wrong with the options themselves is for the database to say."""
    if options is None or payload is None or b'"body"' not in options:
        return
    try:
        body = body_of(orjson.loads(options)["body"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return
    body.of(payload)
