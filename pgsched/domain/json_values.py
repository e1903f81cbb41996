"""Encodes Python values as JSON: payloads, results and checkpoints.

Every type that a handler's annotations may use decodes to an equal value: dataclasses, msgspec Structs, pydantic models
and dataclasses (by alias), and attrs classes. A Decimal becomes a string, to keep its digits. A timedelta becomes an
ISO 8601 duration, and bytes become base64. Integers are exact.

NaN and infinity are refused. Sets, which have no order, and keys that are not strings are refused except in fields of
these types.
"""

import math
from collections import UserString
from collections.abc import Mapping, Sequence, Set
from datetime import date, time
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import PurePath
from typing import Any

import msgspec
import orjson

_AS_TEXT = IPv4Address, IPv4Network, IPv6Address, IPv6Network, PurePath, UserString
_MENDED = "64-bit", "key must be str"
"""Fragments of the orjson error messages whose causes ``_exact`` fixes."""
_WRITE = "give dicts, lists, strings and numbers, or dataclasses, Structs or models of these"
_OPTION = orjson.OPT_PASSTHROUGH_DATACLASS
"""pgsched converts dataclasses itself, because orjson omits fields that begin with an underscore."""


def encode_json(value: Any) -> bytes:
    """Encodes a value. Raises TypeError, with the type's name, if JSON cannot represent it."""
    try:
        encoded = _dumped(value)
    except TypeError as error:
        if not any(word in str(error) for word in _MENDED):
            raise
        return _dumped(_exact(value))
    if b"null" in encoded:
        _exact(value)
    return encoded


def decode_json(text: bytes) -> Any:
    """Decodes the text of a jsonb value. Integers are exact."""
    return msgspec.json.decode(text)


def _dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value, _plain, _OPTION)
    except orjson.JSONEncodeError as error:
        raise TypeError(f"{error}; {error.__cause__ or _WRITE}") from None


def _exact(value: Any) -> Any:
    """Prepares a value for orjson: keeps large integers exact, and converts keys of str subclasses, such as StrEnum, to
    plain str. Raises TypeError for NaN and infinity, which orjson would encode as null.
    """
    if isinstance(value, dict):
        return {str.__str__(name) if isinstance(name, str) else name: _exact(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"{value} is not a JSON number; write null or a string")
    if not isinstance(value, int) or value.bit_length() <= 63:
        return value
    if value.bit_length() > 1024:
        raise TypeError("a number is over 1.797e308; write it as a string")
    return orjson.Fragment(int.__repr__(value))


def _plain(value: Any) -> Any:
    """Converts a value whose type orjson does not know into dicts, lists, strings and numbers."""
    if isinstance(value, Set):
        raise TypeError("write a list")
    if isinstance(value, msgspec.Raw):
        return orjson.Fragment(bytes(value))
    serializer = getattr(type(value), "__pydantic_serializer__", None)
    if serializer is not None:
        return _exact(serializer.to_python(value, mode="json", by_alias=True))
    return _exact(_builtins(value))


def _builtins(value: Any) -> Any:
    attributes = getattr(type(value), "__attrs_attrs__", None)
    if attributes is not None:  # msgspec omits attributes that begin with an underscore
        return {one.name: _builtins(getattr(value, one.name)) for one in attributes}
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain_of_others)


def _plain_of_others(value: Any) -> Any:
    """Converts a value of a type that msgspec does not know."""
    if hasattr(type(value), "__pydantic_serializer__"):
        return _plain(value)
    if isinstance(value, float):  # a subclass
        return float(value)
    if isinstance(value, date | time):  # a subclass, such as pendulum's
        return value.isoformat()
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(_WRITE)
