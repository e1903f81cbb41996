"""The public interface as the catalogs show it, and its reference documentation."""

import inspect
from pathlib import Path

import pytest

import pgsched.store
from pgsched import errors
from pgsched.store.admin.interface_replacement import INTERFACE_FILES
from tests.store.store_arrange import Connection, column

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
BOTH = "in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace)"
OURS = f"pronamespace {BOTH}"


def test_every_function_and_view_has_a_comment(db: Connection) -> None:
    silent = column(
        db,
        f"select oid::regprocedure::text from pg_proc where {OURS} and obj_description(oid,"
        f" 'pg_proc') is null".encode(),
    ) + column(
        db,
        "select relname from pg_class where relnamespace = 'pgsched'::regnamespace and relkind = 'v'"
        " and obj_description(oid, 'pg_class') is null",
    )
    assert silent == []


def test_public_may_execute_no_function(db: Connection) -> None:
    # A null ACL means the built-in default, which lets PUBLIC execute.
    assert (
        column(
            db,
            f"select oid::regprocedure::text from pg_proc where {OURS} and exists (select from"
            " aclexplode(coalesce(proacl, acldefault('f', proowner))) a where a.grantee = 0)".encode(),
        )
        == []
    )


def test_public_has_no_rights_on_the_schema_tables_or_columns(db: Connection) -> None:
    assert (
        column(
            db,
            "select c.relname from pg_class c, aclexplode(c.relacl) a where c.relnamespace ="
            " 'pgsched'::regnamespace and a.grantee = 0"
            " union all select 'schema' from pg_namespace n, aclexplode(n.nspacl) a where n.nspname"
            " = 'pgsched' and a.grantee = 0"
            " union all select t.attname from pg_attribute t join pg_class c on c.oid = t.attrelid,"
            " aclexplode(t.attacl) a"
            " where c.relnamespace = 'pgsched'::regnamespace and a.grantee = 0",
        )
        == []
    )


def test_every_table_with_a_client_id_has_row_level_security(db: Connection) -> None:
    assert (
        column(
            db,
            "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'client_id'"
            " where c.relnamespace = 'pgsched'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
            " and not c.relrowsecurity",
        )
        == []
    )


def test_clients_and_readers_have_no_rights_on_partitions(db: Connection) -> None:
    assert (
        column(
            db,
            "select distinct c.relname from pg_class c, aclexplode(c.relacl) a"
            " where c.relnamespace = 'pgsched'::regnamespace and c.relispartition"
            " and a.grantee in ('pgsched_client'::regrole, 'pgsched_reader'::regrole)",
        )
        == []
    )


def test_every_security_definer_function_pins_its_search_path(db: Connection) -> None:
    assert (
        column(
            db,
            f"select oid::regprocedure::text from pg_proc where {OURS} and prosecdef"
            " and not exists (select from unnest(proconfig) c where c like 'search_path=%')".encode(),
        )
        == []
    )


def test_functions_that_clients_can_reach_pin_a_safe_search_path(db: Connection) -> None:
    """Otherwise, a user who can create operators could replace the comparisons that row-level security makes."""
    assert column(
        db,
        f"select oid::regprocedure::text from pg_proc where {OURS} and prosqlbody is null"
        " and not coalesce(array_to_string(proconfig, ' ') like '%search_path=pg_catalog, pg_temp%', false)"
        " and (has_function_privilege('pgsched_client', oid, 'execute')"
        " or has_function_privilege('pgsched_reader', oid, 'execute') or prorettype = 'trigger'::regtype)".encode(),
    ) == ["pgsched_internal.call_target(text,text,jsonb,text,integer,timestamp with time zone,smallint,uuid,bigint)"]


def test_the_reference_lists_every_function_that_clients_may_call(db: Connection) -> None:
    text = (REFERENCE / "sql.md").read_text(encoding="utf-8")
    callable_by_clients = column(
        db,
        b"select distinct proname from pg_proc where pronamespace = 'pgsched'::regnamespace and"
        b" has_function_privilege('pgsched_client', oid, 'execute')"
        b" and prorettype <> 'trigger'::regtype",
    )
    assert [name for name in callable_by_clients if f"pgsched.{name}(" not in text] == []


def test_the_reference_lists_every_column_of_the_status_view(db: Connection) -> None:
    text = (REFERENCE / "sql.md").read_text(encoding="utf-8")
    columns = column(db, "select attname from pg_attribute where attrelid = 'pgsched.status'::regclass and attnum > 0")
    assert [name for name in columns if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize(
    "error",
    [found for _, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, errors.PgschedError)],
)
def test_the_reference_lists_every_error(error: type[errors.PgschedError]) -> None:
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith(f"| `{error.code}` |")]
    assert f"`{error.__name__}`" in line
    assert error.sqlstate is None or f"`{error.sqlstate}`" in line


def test_every_sqlstate_that_the_database_raises_has_an_error_class(db: Connection) -> None:
    raised = column(
        db,
        f"select distinct m[1] from pg_proc, regexp_matches(prosrc, '''(PS[0-9]{{3}})''', 'g') m where {OURS}"
        " union select distinct m[1] from pg_constraint, regexp_matches(pg_get_constraintdef(oid),"
        " '''(PS[0-9]{3})''', 'g') m"
        " where connamespace = 'pgsched'::regnamespace".encode(),
    )
    assert [state for state in raised if errors.error_for_sqlstate(state) is None] == []


def test_the_list_of_interface_files_is_complete() -> None:
    folder = Path(pgsched.store.__file__).with_name("interface")
    found = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.sql")]
    assert sorted(INTERFACE_FILES) == sorted(found)
