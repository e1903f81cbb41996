"""Python values are encoded as JSON that a handler annotated with their type can decode."""

import collections
import dataclasses
import enum
import inspect
import ipaddress
import math
import types
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import attrs
import msgspec
import orjson
import pydantic
import pytest

from pgsched.delivery.payload_types import decoder_of
from pgsched.domain.json_values import decode_json, encode_json


@dataclasses.dataclass
class Line:
    sku: str
    price: Decimal
    _note: str = ""


class Wrapped(msgspec.Struct):
    n: Any


class Box(pydantic.BaseModel):
    n: Any


class Order(msgspec.Struct, rename="camel"):
    order_id: UUID
    due: datetime
    lines: list[Line] = []


class Refund(pydantic.BaseModel):
    amount: Decimal
    reason: str = pydantic.Field(alias="why")
    within: timedelta = timedelta(hours=1)


@pydantic.dataclasses.dataclass
class Address:
    street: str = pydantic.Field(alias="line1")


class Colour(enum.Enum):
    RED = "red"


class Rate(enum.Enum):
    FULL = Decimal("1.50")


class Level(enum.IntEnum):
    HIGH = 3


class Sizes(msgspec.Struct):
    known: frozenset[int]
    names: dict[int, str]


class Point(NamedTuple):
    x: int
    y: Decimal


class Celsius(float):
    pass


@attrs.define
class Parcel:
    weight: Decimal
    _note: str = ""
    inside: "Parcel | None" = None


class Size(enum.StrEnum):
    SMALL = "s"


class Huge(enum.IntEnum):
    ATOMS = 10**80


class Moment(datetime):
    pass


INSTANT = datetime(2026, 3, 1, 9, tzinfo=UTC)
ID = UUID("0198c0de-0000-7000-8000-000000000001")
LINE = Line("a", Decimal("12.30"), "fragile")
REFUND = Refund(amount=Decimal("1.50"), why="broken")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (LINE, Line),
        (Order(ID, INSTANT, [LINE]), Order),
        (REFUND, Refund),
        ([REFUND], list[Refund]),
        ({"first": REFUND}, dict[str, Refund]),
        (Address(line1="Main St"), Address),
        (Decimal("12.30"), Decimal),
        (timedelta(days=1, seconds=3), timedelta),
        (INSTANT, datetime),
        (date(2026, 3, 1), date),
        (time(9, 30), time),
        (ID, UUID),
        (Colour.RED, Colour),
        (Level.HIGH, Level),
        (Point(1, Decimal("2.0")), Point),
        (b"\x00\xff", bytes),
        (Sizes(frozenset({38}), {38: "small"}), Sizes),
        (Parcel(Decimal("1.5"), "fragile", Parcel(Decimal(1), "inner")), Parcel),
        ({Size.SMALL: 1}, dict[Size, int]),
        (Huge.ATOMS, int),
    ],
)
def test_a_value_decodes_to_its_original_type(value: Any, kind: Any) -> None:
    def handler(payload): ...  # type: ignore[no-untyped-def]

    handler.__annotations__["payload"] = kind
    [parameter] = inspect.signature(handler).parameters.values()
    decode = decoder_of("handler", handler, parameter)
    assert decode is not None
    assert decode(encode_json(value)) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Rate.FULL, "1.50"),
        (Celsius(1.5), 1.5),
        (Moment(2026, 3, 1, 9, tzinfo=UTC), "2026-03-01T09:00:00+00:00"),
        ({"a": [Moment(2026, 3, 1)]}, {"a": ["2026-03-01T00:00:00"]}),
        ({"a": Celsius(1.5)}, {"a": 1.5}),
        (collections.deque([1, 2]), [1, 2]),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.UserString("text"), "text"),
        (collections.UserDict(a=1), {"a": 1}),
        (types.MappingProxyType({"a": Decimal(1)}), {"a": "1"}),
        (range(3), [0, 1, 2]),
        (ipaddress.ip_address("::1"), "::1"),
        (PurePosixPath("/srv/a"), "/srv/a"),
        (Order(ID, INSTANT), {"orderId": str(ID), "due": "2026-03-01T09:00:00Z", "lines": []}),
        (None, None),
        ({"refund": REFUND}, {"refund": {"amount": "1.50", "why": "broken", "within": "PT1H"}}),
    ],
)
def test_values_of_other_types_are_encoded_as_the_nearest_json(value: Any, expected: Any) -> None:
    assert orjson.loads(encode_json(value)) == expected


@pytest.mark.parametrize(
    "value", [object(), 1j, iter([1]), {1, 2}, {}.keys(), {1: "a"}, {ID: 1}, Refund, [{"a": object()}], "\ud800", len]
)
def test_values_without_a_json_form_are_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        encode_json(value)


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, -(10**308)])
@pytest.mark.parametrize("wrap", [list, Wrapped, Box], ids=["list", "Struct", "model"])
def test_integers_beyond_64_bits_round_trip_exactly(number: int, wrap: Any) -> None:
    value = [number] if wrap is list else wrap(n=number)
    found = decode_json(encode_json({"a": value}))["a"]
    assert found == ([number] if wrap is list else {"n": number})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 10**309, 2**1024])
@pytest.mark.parametrize("wrap", [list, Wrapped], ids=["list", "Struct"])
def test_non_finite_and_oversized_numbers_are_refused(number: float, wrap: Any) -> None:
    with pytest.raises(TypeError, match=r"not a JSON number|over 1\.797e308"):
        encode_json({"a": [number] if wrap is list else wrap(n=number)})


def test_an_encoding_error_names_the_type_and_the_accepted_types() -> None:
    with pytest.raises(TypeError, match=r"not JSON serializable: complex; give dicts, lists, strings and numbers"):
        encode_json({"a": 1j})
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TypeError, match="Recursion"):
        encode_json(endless)


@pytest.mark.parametrize(
    "text", ["18446744073709551616", "-9223372036854775809", "123456789012345678901234567890", "9" * 308]
)
def test_integers_beyond_64_bits_are_decoded_exactly(text: str) -> None:
    found = decode_json(f'{{"n": {text}}}'.encode())["n"]
    assert (type(found), str(found)) == (int, text)
