"""The API's role may execute every function that its policies and verbs reach, and may not update executions."""

import re

import pytest

from tests.store.store_arrange import Connection, column, value

pytestmark = pytest.mark.oldest_postgresql

_FUNCTIONS = """
select p.pronamespace::regnamespace || '.' || p.proname, bool_and(p.prosecdef),
       bool_and(has_function_privilege('pgsched_api', p.oid, 'execute')), string_agg(pg_get_functiondef(p.oid), ' ')
  from pg_proc p where p.pronamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) group by 1"""
_POLICIES = """
select coalesce(pg_get_expr(polqual, polrelid), '') || coalesce(pg_get_expr(polwithcheck, polrelid), '')
  from pg_policy where 'pgsched_api'::regrole = any (polroles)"""


def test_the_api_role_may_execute_every_function_it_reaches(db: Connection) -> None:
    functions = {name: found for name, *found in db.execute(_FUNCTIONS)}
    granted = {name for name, (_, is_granted, _) in functions.items() if is_granted}
    called = set[str]()
    to_follow = _called_in(column(db, _POLICIES)) | {name for name in granted if name.startswith("pgsched.")}
    while to_follow := (to_follow & functions.keys()) - called:
        called |= to_follow
        to_follow = _called_in([functions[name][2] for name in to_follow if not functions[name][0]])
    assert called - granted == set()


def test_the_api_role_may_not_update_executions_or_read_partitions(db: Connection) -> None:
    assert not value(db, "select has_table_privilege('pgsched_api', 'pgsched.executions', 'update')")
    assert not value(db, "select has_table_privilege('pgsched_api', 'pgsched_internal.executions_0', 'select')")


def _called_in(texts: list[str]) -> set[str]:
    return {name for text in texts for name in re.findall(r"\bpgsched(?:_internal)?\.\w+(?=\()", text)}
