"""Schedules that nobody can mean are refused alike: by the API, the client, the command line, and in SQL."""

import asyncio
import json
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.types.json import Jsonb

import pgsched
from pgsched.api.app import create_app
from pgsched.cli.main import cli
from pgsched.errors import InvalidSchedule
from pgsched.settings import Settings
from pgsched.store.core.connect import Connection
from pgsched.store.core.refusals import refusal
from pgsched.store.jobs.jobs import plan_jobs
from tests.api.serving import serving
from tests.conftest import at
from tests.invalid_schedules import INVALID_RULES
from tests.store.store_arrange import TARGET, row, schedule
from tests.store.store_arrange import Connection as Session

NAMES, SCHEDULES = zip(*INVALID_RULES, strict=True)
each = pytest.mark.parametrize(("name", "given"), INVALID_RULES, ids=NAMES)
# What PostgreSQL's own types read as something: 60 as seconds, an instant in the session's time zone; and columns that
# every job has, whether its schedule has a use for them or not.
MEANT_IN_SQL = {
    "an interval without a unit",
    "a delay without a unit",
    "an instant without an offset",
    "words for an instant",
    "a gap with an interval",
    "an overlap with an interval",
}
_TYPES = {"fire_at": "timestamptz", "delay": "interval", "every": "interval", "rules": "jsonb"}


def test_there_are_many_of_them() -> None:
    assert len(INVALID_RULES) >= 60


async def test_rest_refuses_each(store_url: str) -> None:
    answers = {}
    async with serving(create_app(Settings(database_url=store_url))) as api:
        for name, given in INVALID_RULES:
            timing = {part: value for part, value in given.items() if part != "rules"}
            body = {"target": TARGET, "schedule": timing} | {part: given[part] for part in given.keys() & {"rules"}}
            answer = await api.post("/v1/jobs", json=body)
            answers[name] = (answer.status_code, answer.json()["code"])
    assert {name: found for name, found in answers.items() if found != (422, InvalidSchedule.code)} == {}


@each
def test_the_function_for_transactions_refuses(db: Session, name: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchedule):
        pgsched.schedule(db, TARGET, **given)


def test_the_command_line_refuses_each(store_url: str) -> None:
    wrong = {}
    for name, given in INVALID_RULES:
        rules = given.get("rules", {})
        if not isinstance(rules, dict):
            continue  # each rule is a flag of its own there
        flags = [f"--{part}={value}" for part, value in given.items() if part != "rules"]
        flags += [f"--rule={rule}={json.dumps(value)}" for rule, value in rules.items()]
        found = CliRunner().invoke(cli, ["schedule", TARGET, "--json", *flags], env=at(store_url))
        code = json.loads(found.stdout or "{}").get("error", {}).get("code")
        if (found.exit_code, code) != (2, InvalidSchedule.code):
            wrong[name] = (found.exit_code, found.output)
    assert wrong == {}


@each
async def test_sql_refuses_it_at_once_or_once_it_is_planned(
    db: Session, worker: Connection, name: str, given: dict[str, Any]
) -> None:
    values = {
        {"at": "fire_at"}.get(part, part): Jsonb(value) if part == "rules" else value
        for part, value in given.items()
        if part not in {"gap", "overlap"}
    }
    arguments = ", ".join(f"{part} => cast(%({part})s as {_TYPES.get(part, 'text')})" for part in values)
    refused, id = None, None
    try:
        [id] = row(db, f"select pgsched.schedule('{TARGET}', {arguments})".encode(), values)
        for part in given.keys() & {"gap", "overlap"}:
            db.execute(f"update pgsched.jobs set {part} = %s where id = %s".encode(), [given[part], id])
    except psycopg.Error as error:
        refused = refusal(error)
    if refused is not None or name in MEANT_IN_SQL:
        assert isinstance(refused, InvalidSchedule) or name in MEANT_IN_SQL, refused
        return
    assert [found for found, _ in (await plan_jobs(worker, batch=10))[1]] == [id]
    assert row(db, "select state::text, split_part(reason, ': ', 1) from pgsched.jobs") == (
        "invalid",
        InvalidSchedule.code,
    )


async def test_what_a_worker_found_invalid_is_listed_with_the_code(
    db: Session, worker: Connection, store_url: str
) -> None:
    schedule(db, cron="0 0 30-31 2 *")
    await plan_jobs(worker, batch=10)
    async with serving(create_app(Settings(database_url=store_url))) as api:
        [found] = (await api.get("/v1/jobs?state=invalid")).json()["items"]
    assert found["reason"].startswith(f"{InvalidSchedule.code}: cron '0 0 30-31 2 *' never occurs")
    asked = ["jobs", "show", found["id"], "--json"]
    shown = await asyncio.to_thread(CliRunner().invoke, cli, asked, env=at(store_url))
    assert json.loads(shown.stdout)["reason"] == found["reason"]
