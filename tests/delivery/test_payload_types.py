"""Payloads are decoded to the types that handlers are annotated with."""

import dataclasses
import types
from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict

import msgspec
import pydantic
import pytest

from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.delivery.handler_call import Handler
from pgsched.domain.attempt_outcome import Failed
from pgsched.errors import InvalidInput
from tests.delivery.receiver import execution


class Struct(msgspec.Struct):
    order: int
    at: datetime | None = None


@dataclasses.dataclass
class Data:
    order: int


class Typed(TypedDict):
    order: int


class Model(pydantic.BaseModel):
    order: int


@pydantic.dataclasses.dataclass
class ModelData:
    order: int


class Tree(msgspec.Struct):
    order: int
    under: "list[Tree]" = []


class Unknown:
    pass


@dataclasses.dataclass
class Bounded:
    order: Annotated[int, pydantic.Field(gt=0)]
    under: "list[Bounded]" = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class HoldsModel:
    model: Model


class Holds(msgspec.Struct):
    inner: list[Unknown]


def handler(kind: Any) -> Handler:
    async def work(payload: Any) -> None: ...

    work.__annotations__["payload"] = kind
    return Handler("work", work)


def given(kind: Any, payload: bytes | None) -> Any:
    return handler(kind).arguments(execution("python:work", payload=payload))["payload"]


@pytest.mark.parametrize("kind", [Struct, Data, Model, ModelData, Tree])
def test_a_payload_is_decoded_to_the_annotated_type(kind: Any) -> None:
    found = given(kind, b'{"order": 42}')
    assert (type(found), found.order) == (kind, 42)


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        (Typed, b'{"order": 42}', {"order": 42}),
        (list[Data], b'[{"order": 1}]', [Data(1)]),
        (list[Model], b'[{"order": 1}]', [Model(order=1)]),
        (dict[str, Model | None], b'{"a": null}', {"a": None}),
        (Struct | None, None, None),
        (Struct | None, b"null", None),
        ("Struct", b'{"order": 42, "at": "2026-01-01T00:00:00"}', Struct(42, datetime(2026, 1, 1))),
        (Any, b'{"order": "?"}', {"order": "?"}),
        (object, b"[1]", [1]),
        (float, b"1", 1.0),
        (pydantic.AwareDatetime, b'"2026-01-01T00:00:00Z"', datetime(2026, 1, 1, tzinfo=UTC)),
        (list[pydantic.Json[int]], b'["1"]', [1]),
        (HoldsModel, b'{"model": {"order": 1}}', HoldsModel(Model(order=1))),
    ],
)
def test_composite_deferred_and_plain_annotations_are_decoded(kind: Any, payload: bytes | None, expected: Any) -> None:
    assert given(kind, payload) == expected


@pytest.mark.parametrize(
    ("kind", "payload", "says"),
    [
        (Struct, b'{"order": "secret"}', "Expected `int`, got `str` - at `$.order`"),
        (Struct, b"{}", "Object missing required field `order`"),
        (Struct, None, "Expected `object`, got `null`"),
        (Data, b'{"order": "secret"}', "Expected `int`, got `str` - at `$.order`"),
        (list[Typed], b'[{"order": "secret"}]', "Expected `int`, got `str` - at `$[0].order`"),
        (Model, b'{"order": "secret"}', "unable to parse string as an integer - at order"),
        (Model, None, "Input should be an object - at the top level"),
        (pydantic.PositiveInt, b"0", "Input should be greater than 0"),
        (Bounded, b'{"order": 0}', "greater than 0 - at order"),
        (list[Bounded], b'[{"order": 1, "under": [{"order": -1}]}]', "greater than 0 - at 0.under.0.order"),
        (Annotated[str, pydantic.Field(max_length=3)], b'"secret"', "at most 3 characters"),
        (dict[str, Annotated[int, pydantic.Field(lt=9)]], b'{"a": 9}', "less than 9 - at a"),
        (list[Model], b"[{},{},{},{},{},{},{}]", "; and 2 more"),
    ],
)
def test_an_invalid_payload_fails_permanently_and_its_values_stay_hidden(
    kind: Any, payload: bytes | None, says: str
) -> None:
    with pytest.raises(FinalFailure) as caught:
        given(kind, payload)
    assert isinstance(caught.value.outcome, Failed)
    assert not caught.value.outcome.retryable
    assert caught.value.outcome.error.startswith("the payload does not match the type of the handler 'work': ")
    assert says in caught.value.outcome.error
    assert "secret" not in caught.value.outcome.error


@pytest.mark.parametrize(
    "kind", [Unknown, list[Unknown], Holds, dict[str, Unknown | None], "Nowhere", types.FunctionType, Model | Struct]
)
def test_an_undecodable_type_is_refused_at_registration(kind: Any) -> None:
    with pytest.raises(InvalidInput, match="the handler 'work' has a payload of"):
        handler(kind)
