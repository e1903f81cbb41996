"""Builds request bodies that are not the payload's JSON: text, a form, or arbitrary bytes."""

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
"""The body formats and their default media types."""
_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")
_FITS = {
    "text": "write a JSON string",
    "form": "write an object of strings, numbers and booleans, or lists of them",
    "base64": "write a JSON string with the base64 of the bytes, without spaces",
}


class _Digits(str):
    """A number that keeps its digits as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The format and the media type of a body that is built from a payload."""

    format: str
    type: str

    def of(self, payload: bytes) -> bytes:
        """Builds the body from a payload. Raises InvalidPayload if the payload does not fit the format."""
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
        raise InvalidPayload(f"the payload does not fit the body format {self.format}; {_FITS[self.format]}")


def _texts(value: Any) -> Iterator[str]:
    """Yields the values of a form field as strings. Raises ValueError for a value that a form cannot contain."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool):
            yield "true" if one else "false"
        elif isinstance(one, str):
            yield one
        else:
            raise ValueError("not a form value")


def body_of(option: dict[str, str]) -> Body:
    """Converts the option ``body`` to a Body."""
    return Body(format=option["format"], type=option.get("type", FORMATS[option["format"]]))


def check_body(payload: bytes | None, options: bytes | None) -> None:
    """Raises InvalidPayload if the payload does not fit the option ``body``. Python checks the payload, because a CHECK
    constraint would slow down every statement. Errors in the options are left to the database."""
    if options is None or payload is None or b'"body"' not in options:
        return
    try:
        body = body_of(orjson.loads(options)["body"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return
    body.of(payload)
