"""Each declared verb matches a function in the database, with the same names and types."""

import ast
import inspect
import re
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest

import pgsched
from pgsched.errors import InvalidInput
from pgsched.store import internal_verbs, verbs
from pgsched.store.core.connect import Connection
from pgsched.store.core.verb import BigInt, Json, SmallInt, internal_verb, verb
from tests.store.store_arrange import DECLARED
from tests.store.store_arrange import Connection as Session

_PACKAGE = Path(pgsched.__file__).parent
_KINDS = {
    "text": str,
    "jsonb": str,
    "pgsched.execution_status": str,
    "text[]": list[str],
    "bytea": bytes,
    "uuid": UUID,
    "boolean": bool,
    "integer": int,
    "smallint": SmallInt,
    "bigint": BigInt,
    "double precision": float,
    "date": date,
    "timestamp with time zone": datetime,
    "interval": timedelta,
    "void": NoneType,
}
_FUNCTIONS = """
select coalesce(p.proargnames[:p.pronargs], '{}'),
       array(select format_type(t, null) from unnest(p.proargtypes) with ordinality a(t, n) order by n),
       p.pronargs - p.pronargdefaults, p.proretset, format_type(p.prorettype, null),
       coalesce(p.proargnames[p.pronargs + 1:], '{}'),
       array(select format_type(t, null) from unnest(p.proallargtypes[p.pronargs + 1:]) with ordinality a(t, n)
              order by n)
  from pg_proc p where p.pronamespace = %s::regnamespace and p.proname = %s
"""


class _Function(NamedTuple):
    """A function from the catalog. The first ``required`` parameters have no default."""

    names: list[str]
    types: list[str]
    required: int
    has_many: bool
    answer: str
    columns: list[str]
    column_types: list[str]


def _functions(db: Session, declared: verb[..., Any]) -> list[_Function]:
    return [_Function(*row) for row in db.execute(_FUNCTIONS, [declared.schema, declared.name])]


def _kind(annotation: Any) -> Any:
    """Return the type without None. Literals and JSON are text."""
    if get_origin(annotation) in (Union, UnionType):
        [annotation] = [one for one in get_args(annotation) if one is not NoneType]
    return (
        str
        if annotation is Json or get_origin(annotation) is Literal
        else NoneType
        if annotation is None
        else annotation
    )


@pytest.mark.oldest_postgresql
@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: f"{declared.schema}.{declared.name}")
def test_each_verb_declaration_matches_its_sql_function(db: Session, declared: verb[..., Any]) -> None:
    functions = _functions(db, declared)
    assert functions, "there is no such function"
    _, *parameters = declared.signature.parameters.values()
    types = {name: kind for one in functions for name, kind in zip(one.names, one.types, strict=True)}
    for one in parameters:
        assert _kind(one.annotation) == _KINDS[types[one.name]]
        if one.default is not inspect.Parameter.empty:
            assert any(one.name not in function.names[: function.required] for function in functions)
    for function in functions:
        assert set(function.names[: function.required]) <= {one.name for one in parameters}
        _compare_answers(declared.signature.return_annotation, function)


def _compare_answers(answer: Any, function: _Function) -> None:
    assert function.has_many is (get_origin(answer) is list)
    kind = get_args(answer)[0] if function.has_many else answer
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        fields = get_type_hints(kind)
        assert list(fields) == function.columns
        declared = list(fields.values())
    else:
        declared = list(get_args(kind)) if get_origin(kind) is tuple else [kind]
    found = [_KINDS[one] for one in function.column_types or [function.answer]]
    assert [_kind(one) for one in declared] == [
        get_args(one)[0] if get_origin(one) is Annotated else one for one in found
    ]


@pytest.mark.parametrize("module", [verbs, internal_verbs])
def test_verb_declarations_have_no_body(module: Any) -> None:
    tree = ast.parse(inspect.getsource(module))
    functions = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)]
    assert [one.name for one in functions if [ast.unparse(line) for line in one.body] != ["..."]] == []
    assert {one.name for one in functions} == {one.name for one in DECLARED if one.__module__ == module.__name__}


def test_every_verb_declaration_is_used() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in _PACKAGE.rglob("*.py"))
    modules = {verb.schema: "verbs", internal_verb.schema: "internal_verbs"}
    used = [f"{modules[one.schema]}.{one.name}" for one in DECLARED]
    assert [name for name in used if not re.search(rf"\b{re.escape(name)}\b", source)] == []


async def test_a_verb_sends_only_the_given_arguments(db: Session, worker: Connection) -> None:
    assert verbs.drop_client.text("client") == "select pgsched.drop_client(client => %(client)s)"
    assert await verbs.pause(worker, "client", "shop", note=None, actor=None)
    assert not await verbs.pause(worker, "client", name="shop", note="again", actor="somebody")


def test_verb_calls_cast_integers_and_select_from_table_functions() -> None:
    assert internal_verbs.tidy_keys.text("most") == "select pgsched_internal.tidy_keys(most => %(most)s::integer)"
    assert verbs.release.text("id", "token") == "select pgsched.release(id => %(id)s, token => %(token)s::bigint)"
    assert internal_verbs.look_up_keys.text("ids") == "select * from pgsched_internal.look_up_keys(ids => %(ids)s)"


async def test_text_that_postgresql_cannot_store_is_refused(worker: Connection) -> None:
    with pytest.raises(InvalidInput, match="note contains a NUL character"):
        await verbs.pause(worker, "client", "shop", note="\x00", actor=None)
