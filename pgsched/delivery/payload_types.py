"""Decodes payloads into the types in handlers' annotations.

Pydantic decodes and checks its own models, dataclasses, types and constraints, and types that contain them. msgspec
decodes and checks all other types. Without an annotation, or with ``Any`` or ``object``, the handler receives plain
Python values.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args, get_type_hints, is_typeddict

import msgspec

from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.domain.attempt_outcome import LONGEST_ERROR
from pgsched.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic import ValidationError

Decode = Callable[[bytes | None], Any]
"""Decodes a payload's JSON; None means no payload. Raises FinalFailure if the payload does not match the type."""

_NULL = b"null"
_PYDANTICS = ("pydantic", "annotated_types")
_MOST_TOLD = 5


def decoder_of(handler: str, function: Callable[..., Any], parameter: inspect.Parameter) -> Decode | None:
    """Returns the decoder for the parameter's annotation, or None if the parameter takes plain values. Raises
    InvalidInput if JSON cannot be decoded into the annotated type."""
    kind = _resolved(handler, function, parameter)
    if kind in (inspect.Parameter.empty, Any, object):
        return None
    if any(_is_pydantics(one) for one in _parts(kind)):
        return _by_pydantic(handler, kind)
    return _by_msgspec(handler, kind)


def _resolved(handler: str, function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Returns the annotated type, even if the handler's module postpones the evaluation of annotations."""
    found = inspect.unwrap(function)
    code = found if inspect.isroutine(found) else getattr(found, "func", type(found).__call__)
    held = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    if parameter.annotation is inspect.Parameter.empty:
        return parameter.annotation
    try:
        return get_type_hints(held, getattr(code, "__globals__", {}), include_extras=True)[parameter.name]
    except Exception as error:
        raise InvalidInput(
            f"the handler {handler!r} has a payload of type {parameter.annotation!r}, which cannot be resolved "
            f"({error}): import or define the type at the top of the module, outside TYPE_CHECKING"
        ) from error


def _parts(kind: Any, seen: frozenset[Any] = frozenset()) -> Iterator[Any]:
    """Yields the annotation, its components and, for a dataclass or TypedDict, the annotations of its fields."""
    yield kind
    parts = get_args(kind)
    if isinstance(kind, type) and kind not in seen and (is_dataclass(kind) or is_typeddict(kind)):
        with suppress(Exception):  # if a field's type cannot be found, the decoder reports it
            parts = (*parts, *get_type_hints(kind, include_extras=True).values())
        seen |= {kind}
    for part in parts:
        yield from _parts(part, seen)


def _is_pydantics(kind: Any) -> bool:
    """Whether a type is a pydantic model, dataclass or type such as AwareDatetime, or a constraint in an Annotated
    type, which msgspec would ignore. False if pydantic has not been imported."""
    if "pydantic" not in sys.modules:
        return False
    named = kind if isinstance(kind, type) else type(kind)
    return hasattr(kind, "__pydantic_validator__") or named.__module__.partition(".")[0] in _PYDANTICS


def _by_msgspec(handler: str, kind: Any) -> Decode:
    try:
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
        _refuse_what_is_unknown(msgspec.inspect.type_info(kind))
    except (TypeError, NameError) as error:
        raise InvalidInput(
            f"the handler {handler!r} has a payload of type {kind!r}, which cannot be decoded from JSON ({error}): "
            "annotate the payload with a Struct, a dataclass, a TypedDict or a pydantic model, or with Any"
        ) from error

    def decode(payload: bytes | None) -> Any:
        try:
            return decoder.decode(_NULL if payload is None else payload)
        except msgspec.ValidationError as error:
            raise _misfit(handler, str(error)) from error

    return decode


def _refuse_what_is_unknown(kind: Any, seen: frozenset[Any] = frozenset()) -> None:
    """Raises TypeError for a class that msgspec can decode only with a custom hook, which pgsched does not have."""
    if isinstance(kind, msgspec.inspect.CustomType):
        raise TypeError(f"{kind.cls!r} is not a data type")
    named = getattr(kind, "cls", None)
    if named in seen:
        return
    for name in ("item_type", "key_type", "value_type", "types", "item_types", "fields"):
        inner = getattr(kind, name, None)
        for one in inner if isinstance(inner, tuple) else (inner,):
            if one is not None:
                _refuse_what_is_unknown(getattr(one, "type", one), seen | {named} - {None})


def _by_pydantic(handler: str, kind: Any) -> Decode:
    import pydantic

    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(kind)
    except (pydantic.PydanticUserError, pydantic.PydanticUndefinedAnnotation) as error:
        raise InvalidInput(
            f"the handler {handler!r} has a payload of type {kind!r}, which pydantic cannot decode: {error.message}"
        ) from error

    def decode(payload: bytes | None) -> Any:
        try:
            return adapter.validate_json(_NULL if payload is None else payload)
        except pydantic.ValidationError as error:
            raise _misfit(handler, _told(error)) from None  # without the exception, which repeats the payload

    return decode


def _told(error: "ValidationError") -> str:
    """Describes which parts of the payload are wrong. Omits values: more people may read reasons than payloads."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{one['msg']} - at {'.'.join(map(str, one['loc'])) or 'the top level'}" for one in found[:_MOST_TOLD]]
    return "; ".join(told) + (f"; and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else "")


def _misfit(handler: str, said: str) -> FinalFailure:
    return FinalFailure(f"the payload does not match the type of the handler {handler!r}: {said}"[:LONGEST_ERROR])
