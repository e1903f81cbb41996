"""Workers may execute the functions that their statements call, and no other internal security definers.

A security definer calls other functions with its owner's rights; any other function calls them with the worker's.
"""

import re
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from tests.store.store_arrange import DECLARED, Connection, column

pytestmark = pytest.mark.oldest_postgresql

_FUNCTIONS = """
select p.pronamespace::regnamespace || '.' || p.proname, bool_and(p.prosecdef and p.provolatile <> 'i'),
       bool_and(p.prorettype = 'trigger'::regtype),
       bool_and(has_function_privilege('pgsched_worker', p.oid, 'execute')),
       string_agg(pg_get_functiondef(p.oid), ' ')
  from pg_proc p where p.pronamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) group by 1"""
_OF_THE_TABLES = """
select pg_get_viewdef(oid) from pg_class where relkind = 'v' and relnamespace::regnamespace::text like 'pgsched%'
union all select pg_get_constraintdef(oid) from pg_constraint where connamespace::regnamespace::text like 'pgsched%'
union all select pg_get_expr(adbin, adrelid) from pg_attrdef"""


def test_workers_may_execute_only_the_security_definer_functions_they_use(db: Connection) -> None:
    functions = {name: found for name, *found in db.execute(_FUNCTIONS)}
    package = Path(str(files("pgsched")))
    texts = [
        path.read_text(encoding="utf-8") for path in (*package.rglob("*.py"), *package.rglob("statements/**/*.sql"))
    ]
    called = _called_in([*texts, *(one.text() for one in DECLARED), *column(db, _OF_THE_TABLES)]) & functions.keys()
    to_follow = called | {name for name, (_, is_trigger, *_) in functions.items() if is_trigger}
    followed: set[str] = set()
    while to_follow - followed:
        name = (to_follow - followed).pop()
        followed.add(name)
        is_definer, _, _, text = functions[name]
        inside = set() if is_definer else _called_in([text]) & functions.keys() - {name}
        called |= inside
        to_follow |= inside
    granted = {name for name, (_, _, is_granted, _) in functions.items() if is_granted}
    assert called - granted == set()
    assert {name for name in granted - called if name.startswith("pgsched_internal.") and functions[name][0]} == set()


@pytest.mark.parametrize(
    "change",
    [
        "update pgsched_internal.facts set value = '{}' where name = 'catalogue'",
        "update pgsched_internal.facts set name = 'tzdata behind' where name = 'catalogue'",
        "delete from pgsched_internal.facts where name = 'catalogue'",
    ],
)
def test_workers_may_not_change_the_catalog_that_migrations_execute(db: Connection, change: str) -> None:
    with db.transaction(force_rollback=True):
        db.execute("set local role pgsched_worker")
        assert db.execute(change.encode()).rowcount == 0
        db.execute("insert into pgsched_internal.facts (name, value) values ('tzdata behind', '2026b')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("update pgsched_internal.facts set name = 'interface' where name = 'tzdata behind'")


def _called_in(texts: list[str]) -> set[str]:
    return {name for text in texts for name in re.findall(r"\bpgsched(?:_internal)?\.\w+", text)}
