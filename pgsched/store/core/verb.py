"""Calls functions of the database from their declarations in ``store/verbs.py`` and ``store/internal_verbs.py``.

    @verb
    async def drop_queue(connection: Connection, name: str, *, actor: str | None) -> None: ...

A declaration has no body. Calling it sends ``select pgsched.drop_queue(name => %(name)s, actor => %(actor)s)``. The
names and types are those of the function in the database, and ``tests/store/core/test_verbs.py`` compares the two. Only
the arguments that the caller passes are sent, so the database's defaults apply to the others.

The return type says how the result is read: a tuple, NamedTuple or dataclass is one row, a list is all rows, and
anything else is the first value of the first row. Instants and JSON are read as in ``core/query.py``. A mapping is sent
as JSON. Raises InvalidInput for text that PostgreSQL cannot store.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import is_dataclass
from functools import update_wrapper
from typing import Annotated, Any, ClassVar, Generic, LiteralString, ParamSpec, TypeVar, get_args, get_origin

from psycopg.rows import AsyncRowFactory, class_row, scalar_row, tuple_row

from pgsched.store.core.query import reading
from pgsched.store.core.text import check_texts, json_of

Json = Mapping[str, Any]
BigInt = Annotated[int, "bigint"]
SmallInt = Annotated[int, "smallint"]

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class verb(Generic[_Given, _Answer]):
    """Decorates a declaration so that calling it calls the function of the same name in the schema ``pgsched``."""

    schema: ClassVar[LiteralString] = "pgsched"

    def __init__(self, declared: Callable[_Given, Coroutine[Any, Any, _Answer]]) -> None:
        update_wrapper(self, declared)
        self.name = declared.__name__
        self.signature = inspect.signature(declared)
        answer = self.signature.return_annotation
        self._has_answer, self._has_many = answer is not None, get_origin(answer) is list
        self._row = _row_factory(get_args(answer)[0] if self._has_many else answer)
        self._texts: dict[tuple[str, ...], LiteralString] = {}

    async def __call__(self, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        parameters = self.signature.bind(*given, **named).arguments
        connection = parameters.pop("connection")
        parameters |= {name: json_of(value) for name, value in parameters.items() if isinstance(value, Mapping)}
        check_texts(parameters)
        answer: Any = None
        async with reading(connection, self._row) as cursor:
            await cursor.execute(self.text(*parameters), parameters)
            if self._has_answer:
                answer = await (cursor.fetchall() if self._has_many else cursor.fetchone())
        return answer  # type: ignore[no-any-return]

    def text(self, *names: str) -> LiteralString:
        """Returns the statement with these arguments, for a synchronous connection or a binary result."""
        if (found := self._texts.get(names)) is None:
            named = ", ".join(f"{name} => %({name})s{self._cast(name)}" for name in names)
            what = "" if self._row is scalar_row else "* from "
            found = self._texts[names] = f"select {what}{self.schema}.{self.name}({named})"
        return found

    def _cast(self, name: str) -> str:
        """Returns the cast for an argument. Integers need a cast, because psycopg chooses their type by their size."""
        kind = self.signature.parameters[name].annotation
        for one in (kind, *get_args(kind)):
            if one is int:
                return "::integer"
            if get_origin(one) is Annotated:
                return f"::{get_args(one)[1]}"
        return ""


class internal_verb(verb[_Given, _Answer]):
    """Like ``verb``, but for the schema ``pgsched_internal``."""

    schema = "pgsched_internal"


def _row_factory(kind: Any) -> AsyncRowFactory[Any]:
    if get_origin(kind) is tuple:
        return tuple_row
    is_row = isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))
    return class_row(kind) if is_row else scalar_row
