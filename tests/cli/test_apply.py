"""Jobs declared in an application or a file, applied to a database."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import pgsched
from pgsched.cli.apply import jobs_of
from pgsched.domain.declared_job import DeclaredJob, checked, declared_in
from pgsched.errors import Conflict, InvalidInput, InvalidSchedule, PgschedError
from pgsched.store.core.new_connection import transaction_async
from pgsched.store.core.text import encode
from pgsched.store.jobs import declaring
from pgsched.store.jobs.declaring import Change
from tests.cli.conftest import Run
from tests.conftest import at
from tests.store.store_arrange import TARGET

Connection = psycopg.Connection[tuple[Any, ...]]
NIGHTLY = DeclaredJob(
    key="nightly", target="python:report", cron="0 2 * * *", timezone="Europe/Berlin", payload={"shop": 7}
)
POLL = DeclaredJob(key="poll", target="python:poll", every="15m", client="shop")
FILE = """
log_level = "warning"

[[jobs]]
key = "nightly"
target = "python:report"
cron = "0 2 * * *"
timezone = "Europe/Berlin"
payload = {shop = 7}

[[jobs]]
key = "poll"
client = "shop"
target = "python:poll"
every = "15m"
labels = {team = "stock"}
[jobs.options]
timeout = "30s"
"""


async def applied(
    url: str,
    jobs: Sequence[DeclaredJob],
    *,
    name: str = "test",
    prune: bool = False,
    force: bool = False,
    undo: bool = False,
) -> list[Change]:
    async with transaction_async(url) as connection:
        changes = await declaring.compare(connection, name, jobs, prune=prune, force=force)
        await declaring.apply(connection, name, changes, actor="ann", undo=undo)
    return changes


def whats(changes: Sequence[Change]) -> dict[str | None, str]:
    return {change.key: change.what for change in changes}


STANDING = "select key, cron, declared_by from pgsched.jobs where state <> 'cancelled' order by key"


async def test_applying_a_declaration_twice_adds_its_jobs_once(database_url: str, db: Connection) -> None:
    assert whats(await applied(database_url, [NIGHTLY, POLL])) == {"nightly": "added", "poll": "added"}
    assert db.execute(STANDING).fetchall() == [("nightly", "0 2 * * *", "test"), ("poll", None, "test")]
    assert whats(await applied(database_url, [POLL, NIGHTLY])) == {"nightly": "unchanged", "poll": "unchanged"}
    assert db.execute("select revision from pgsched.jobs").fetchall() == [(1,), (1,)]


async def test_a_change_lists_the_changed_fields_and_the_next_fire_times(database_url: str, db: Connection) -> None:
    await applied(database_url, [NIGHTLY])
    later = DeclaredJob(key="nightly", target="python:report", cron="0 3 * * *", timezone="Europe/Berlin")
    [change] = await applied(database_url, [later])
    assert (change.what, change.fields) == ("changed", ["payload", "cron"])
    assert [fire.local[11:16] for fire in change.before] == ["02:00"] * 3
    assert [fire.local[11:16] for fire in change.after] == ["03:00"] * 3
    assert db.execute("select cron, payload, declared_by from pgsched.jobs").fetchall() == [("0 3 * * *", None, "test")]


async def test_applying_a_declaration_reverts_forced_edits(database_url: str, db: Connection) -> None:
    await applied(database_url, [POLL])
    db.execute("""select pgsched.edit(id, '{"every": "1h"}', force => true) from pgsched.jobs""")
    [change] = await applied(database_url, [POLL])
    assert change.fields == ["every"]
    assert db.execute("select every from pgsched.jobs").fetchall() == [(timedelta(minutes=15),)]


async def test_pruning_cancels_only_jobs_from_the_same_declaration(database_url: str, db: Connection) -> None:
    await applied(database_url, [POLL], name="other")
    db.execute("select pgsched.schedule('python:x', every => '1 hour', key => 'by hand')")
    await applied(database_url, [NIGHTLY])
    assert whats(await applied(database_url, [])) == {"nightly": "left"}
    assert whats(await applied(database_url, [], prune=True)) == {"nightly": "removed"}
    assert db.execute(STANDING).fetchall() == [("by hand", None, None), ("poll", None, "other")]
    assert db.execute("select reason from pgsched.jobs where key = 'nightly'").fetchone() == (
        "no longer declared by test",
    )


async def test_jobs_from_elsewhere_are_taken_over_only_with_force(database_url: str, db: Connection) -> None:
    db.execute("select pgsched.schedule('python:poll', every => '15 minutes', client => 'shop', key => 'poll')")
    with pytest.raises(Conflict, match="'poll' of client 'shop' is scheduled, not declared"):
        await applied(database_url, [NIGHTLY, POLL])
    assert db.execute("select count(*) from pgsched.jobs").fetchone() == (1,)
    [change] = await applied(database_url, [POLL], force=True)
    assert (change.what, change.fields) == ("changed", ["declared_by"])
    with pytest.raises(Conflict, match="is declared by 'test'"):
        await applied(database_url, [POLL], name="other")


REFUSED: dict[str, dict[str, Any]] = {
    "an unknown option": {"options": {"no_such_option": 1}},
    "an invalid option value": {"options": {"timeout": "-5s"}},
    "an invalid label": {"labels": {"": "x"}},
    "an unknown queue": {"queue": "nowhere"},
    "a payload that does not fit the body format": {
        "payload": {"a": [{}]},
        "options": {"body": {"format": "form"}},
        "target": TARGET,
    },
    "a key over the length limit": {"key": "k" * 300},
    "an ordering key over the length limit": {"ordering_key": "o" * 300},
    "NUL in the payload": {"payload": "a\0b"},
    "a number out of range for a double": {"payload": 10**400},
    "a payload over the size limit": {"payload": "x" * 2**20},
    "a job after itself": {"rules": {"after": "nightly"}},
}


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "apply"])
@pytest.mark.parametrize("what", REFUSED)
async def test_a_dry_run_refuses_the_same_jobs_as_apply(module_url: str, what: str, dry_run: bool) -> None:
    with pytest.raises((PgschedError, psycopg.Error)):
        await applied(module_url, [replace(NIGHTLY, **REFUSED[what])], undo=dry_run)


async def test_a_dry_run_changes_nothing(database_url: str, db: Connection) -> None:
    await applied(database_url, [POLL])
    assert whats(await applied(database_url, [NIGHTLY], prune=True, undo=True)) == {
        "nightly": "added",
        "poll": "removed",
    }
    assert db.execute("select key, state::text from pgsched.jobs").fetchall() == [("poll", "active")]


async def test_one_refused_job_prevents_all_changes(database_url: str, db: Connection) -> None:
    unknown = DeclaredJob(key="a", target="python:x", every="1h", queue="nowhere")
    with pytest.raises(psycopg.Error, match="nowhere"):
        await applied(database_url, [POLL, unknown])
    assert db.execute("select count(*) from pgsched.jobs").fetchone() == (0,)


def test_the_apply_command_shows_changes_and_a_dry_run_writes_nothing(
    run: Run, database_url: str, db: Connection, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(FILE, encoding="utf-8")

    def apply(*flags: str) -> Any:
        return run("apply", str(file), *flags, env=at(database_url))

    dry = apply("--dry-run")
    assert dry.stdout.startswith("added     default/nightly\n  after   ")
    assert dry.stdout.endswith("jobs.toml: 2 added, 0 changed, 0 removed, 0 unchanged (dry run: nothing was written)\n")
    assert db.execute("select count(*) from pgsched.jobs").fetchone() == (0,)
    assert json.loads(apply("--json").stdout)["added"] == 2
    assert db.execute("select labels, options from pgsched.jobs where key = 'poll'").fetchone() == (
        {"team": "stock"},
        {"timeout": "30s"},
    )
    file.write_text(FILE.replace("15m", "20m").replace('key = "nightly"', 'key = "new"'), encoding="utf-8")
    found = apply()
    assert "changed   shop/poll  (every)\n  before  " in found.stdout
    assert found.stderr == "note: kept, although no longer declared (--prune cancels these jobs): default/nightly\n"
    assert json.loads(apply("--prune", "--json").stdout)["removed"] == 1


def test_decorators_declare_jobs_for_their_handlers() -> None:
    app = pgsched.App()

    @app.cron("0 2 * * *", timezone="Europe/Berlin", key="nightly")
    @app.every("15m", payload={"quick": True})
    @app.handler("make_report")
    async def report(payload: Any) -> None: ...

    @app.every(timedelta(hours=1), client="shop")
    def poll() -> None: ...

    assert [(job.client, job.key, job.target, job.cron, job.every) for job in app.declared] == [
        ("default", "make_report", "python:make_report", None, "15m"),
        ("default", "nightly", "python:make_report", "0 2 * * *", None),
        ("shop", "poll", "python:poll", None, timedelta(hours=1)),
    ]
    assert app.handlers["poll"].function is poll


def test_an_invalid_declaration_is_refused_at_the_decorator() -> None:
    app = pgsched.App()

    def report() -> None: ...

    with pytest.raises(InvalidSchedule):
        app.cron("0 25 * * *")(report)
    app.every("1h", key="a")(report)
    with pytest.raises(InvalidInput, match="two jobs of client 'default' are declared with the key 'a'"):
        app.every("2h", key="a")(report)


WRONG: list[tuple[Any, str]] = [
    ({}, r"an array of tables, with \[\[jobs\]\]"),
    ([{"key": "a", "target": "python:x"}], r"job 1 \('a'\): a declared job needs .cron. or .every."),
    ([{"target": "python:x", "every": "1h"}], "job 1 has no key"),
    ([{"key": "a", "target": "python:x", "evry": "1h"}], "job 1 has an unknown field 'evry'; a job has key, target"),
    ([{"key": "a", "target": "ftp://x", "every": "1h"}], r"job 1 \('a'\): "),
    ([{"key": 7, "target": "python:x", "every": "1h"}], "key cannot be 7: write a string"),
]


@pytest.mark.parametrize(("tables", "said"), WRONG)
def test_an_error_in_a_declaration_file_names_the_job(tables: Any, said: str) -> None:
    with pytest.raises((InvalidInput, InvalidSchedule), match=said):
        checked(declared_in(tables, "jobs.toml"))


YAML = """
jobs:
  - {key: nightly, target: "python:report", cron: 0 2 * * *, timezone: Europe/Berlin, payload: {shop: 7}}
  - key: poll
    client: shop
    target: python:poll
    every: 15m
    labels: &team {team: stock}
    options: {timeout: 30s}
  - key: odd
    target: python:odd
    every: 1h
    labels: {<<: *team, answer: no, at: 12:30}
    payload: [010, 0x10, 1.50, 1e3, -7, 2026-03-01, ~, true, yes, .inf, ""]
"""


def test_yaml_and_toml_declare_the_same_jobs(tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text(FILE)
    (tmp_path / "jobs.yaml").write_text(YAML)
    *same, odd = jobs_of(tmp_path / "jobs.yaml")
    assert same == jobs_of(tmp_path / "jobs.toml")
    assert odd.labels == {"team": "stock", "answer": "no", "at": "12:30"}
    assert odd.payload == [10, 16, 1.5, 1000.0, -7, "2026-03-01", None, True, "yes", ".inf", ""]


@pytest.mark.parametrize(("name", "text"), [("jobs.toml", FILE), ("jobs.yaml", YAML)])
def test_a_byte_order_mark_in_a_declaration_file_is_ignored(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    plain = jobs_of(tmp_path / name)
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert jobs_of(tmp_path / name) == plain


@pytest.mark.parametrize(
    "doubled",
    ["[*a{n}, *a{n}]", "{{x: *a{n}, y: *a{n}}}", "{{<<: [*a{n}, *a{n}]}}"],
    ids=["lists", "mappings", "merges"],
)
def test_yaml_aliases_that_expand_too_far_are_refused(tmp_path: Path, doubled: str) -> None:
    file = tmp_path / "jobs.yaml"
    lines = [f"  a{n + 1}: &a{n + 1} {doubled.format(n=n)}" for n in range(40)]
    head = "jobs:\n- key: a\n  target: python:a\n  every: 1h\n  payload: {a: &a0 {x: 1}}\n"
    file.write_text("\n".join([head, *lines]) + "\n")
    with pytest.raises(InvalidInput, match="aliases expand to more than 16 MiB"):
        jobs_of(file)


def test_a_recursive_yaml_alias_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("jobs: &jobs [*jobs]")
    with pytest.raises(InvalidInput, match="or refer to themselves"):
        jobs_of(file)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("jobs: [", "is not YAML"),
        ("jobs: []\njobs: []", "'jobs' occurs twice"),
        ("jobs: [{1: 2}]", "a name must be text"),
        ("jobs: !!python/object/apply:os.getcwd []", "is not YAML"),
        ("jobs: []\n---\njobs: []", "is not YAML"),
        ("log_level: debug\njobs: []", "nothing else"),
        ("- key: a", "nothing else"),
        ("", "nothing else"),
        ("jobs: {key: a}", "must be an array of tables"),
        ("jobs: [{key: a, target: 'python:a', every: 1h, payload: &it [*it]}]", "or refer to themselves"),
    ],
)
def test_invalid_yaml_declarations_are_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "jobs.yml"
    file.write_text(text)
    with pytest.raises(PgschedError, match=why):
        encode([job.payload for job in jobs_of(file)], "payload")
