"""Actions of operators: database settings, long reads, migrations, terminated sessions."""

from pgsched.store.admin.migrate import migrate
from tests.adversary.attack import Means, attack
from tests.adversary.house import as_login


def with_settings(means: Means, *settings: str) -> None:
    """Applies database settings, and terminates pgsched's sessions so that new ones use them."""
    owner = means.house.owner
    [(database,)] = owner.execute("select quote_ident(current_database())").fetchall()
    for setting in settings:
        owner.execute(f"alter database {database} set {setting}".encode())
    means.at_end(means.cut)
    means.at_end(lambda: owner.execute(f"alter database {database} reset all".encode()))
    means.cut()


@attack(after_mount=True)
def dates_are_written_in_german(means: Means) -> None:
    with_settings(means, "datestyle = 'German, DMY'", "timezone = 'America/St_Johns'", "intervalstyle = 'sql_standard'")


@attack(after_mount=True)
def the_search_path_leads_to_hostile_functions(means: Means) -> None:
    owner = means.house.owner
    owner.execute("create schema if not exists elsewhere; grant all on schema elsewhere to public")
    means.at_end(lambda: owner.execute("drop schema elsewhere cascade"))
    for statement in (
        "create function elsewhere.now() returns timestamptz language sql as $$ select '2000-01-01'::timestamptz $$",
        "create function elsewhere.broken(bigint, bigint) returns boolean language sql as $$ select 1 / 0 = 1 $$",
        "create operator elsewhere.= (function = elsewhere.broken, leftarg = bigint, rightarg = bigint)",
        "create function elsewhere.broken(uuid, uuid) returns boolean language sql as $$ select 1 / 0 = 1 $$",
        "create operator elsewhere.= (function = elsewhere.broken, leftarg = uuid, rightarg = uuid)",
        "create function elsewhere.broken(text, text) returns boolean language sql as $$ select 1 / 0 = 1 $$",
        "create operator elsewhere.= (function = elsewhere.broken, leftarg = text, rightarg = text)",
        "create domain elsewhere.uuid as text check (false)",
        "create function elsewhere.pg_notify(text, text) returns void language sql as $$ select 1 / 0 $$",
    ):
        means.attempt(means.operator(), statement)
    with_settings(means, "search_path = elsewhere, pg_catalog, public")


@attack(after_mount=True)
def statements_behave_differently(means: Means) -> None:
    """Results are formatted differently, too."""
    with_settings(means, "intervalstyle = 'iso_8601'", "extra_float_digits = '-15'", "bytea_output = 'escape'",
                  "standard_conforming_strings = 'off'", "transform_null_equals = 'on'", "array_nulls = 'off'",
                  "default_transaction_isolation = 'serializable'", "enable_indexscan = 'off'", "work_mem = '64kB'",
                  "synchronous_commit = 'off'", "quote_all_identifiers = 'on'",
                  "client_encoding = 'LATIN1'")  # fmt: skip


@attack(after_mount=True)
def sessions_have_short_timeouts(means: Means) -> None:
    with_settings(means, "statement_timeout = '20ms'", "lock_timeout = '1ms'",
                  "idle_in_transaction_session_timeout = '50ms'",
                  "idle_session_timeout = '300ms'", "transaction_timeout = '50ms'")  # fmt: skip


@attack(seconds=2.0)
def the_schema_is_migrated_again_beside_open_transactions(means: Means) -> None:
    means.attempt(means.mallory(), "select count(*) from pgsched.history")
    means.attempt(means.mallory(), "select pgsched.schedule('python:mallory', client => 'mallory', key => 'open')")
    _migrate(means)


@attack(seconds=2.0)
def the_schema_is_migrated_again(means: Means) -> None:
    _migrate(means)


def _migrate(means: Means) -> None:
    def again() -> None:
        migrate(as_login(means.house.url, "migrator"))
        means.wait(0.5)

    means.keep(again)


@attack(seconds=2.0)
def a_reader_counts_everything(means: Means) -> None:
    operator = means.operator()
    operator.autocommit = False
    for table in ("status", "history", "executions", "jobs", "attempts", "workers", "queues", "clients", "audit_log"):
        means.attempt(operator, f"select count(*) from pgsched.{table}")


@attack(seconds=2.0)
def tables_are_vacuumed_and_analysed(means: Means) -> None:
    operator = means.operator()

    def again() -> None:
        operator.execute("vacuum analyze")
        means.wait(0.5)

    means.keep(again)
