"""Invalid schedules are refused alike by the API, the client, the command line and SQL."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import psycopg
from click.testing import CliRunner
from psycopg.types.json import Jsonb

import pgsched
from pgsched.api.app import create_app
from pgsched.cli.main import cli
from pgsched.errors import InvalidSchedule
from pgsched.settings import Settings
from pgsched.store.core.connect import Connection
from pgsched.store.core.refusals import refusal
from pgsched.store.jobs.unplanned_jobs import plan_jobs
from tests.api.serving import serving
from tests.conftest import at
from tests.domain.test_cron import FIRST_INSTANTS
from tests.invalid_schedules import INVALID_RULES
from tests.store.store_arrange import TARGET, column, row, schedule
from tests.store.store_arrange import Connection as Session

# PostgreSQL's own types give these a meaning: 60 is seconds, and an instant is in the session's time zone. Every job
# has a gap and an overlap, whether its schedule uses them or not.
MEANT_IN_SQL = {
    "an interval without a unit",
    "a delay without a unit",
    "an instant without an offset",
    "words for an instant",
    "a gap with an interval",
    "an overlap with an interval",
}
_TYPES = {"fire_at": "timestamptz", "delay": "interval", "every": "interval", "rules": "jsonb"}


def test_at_least_sixty_invalid_schedules_are_tested() -> None:
    assert len(INVALID_RULES) >= 60


async def test_the_api_refuses_every_invalid_schedule(store_url: str) -> None:
    answers = {}
    async with serving(create_app(Settings(database_url=store_url))) as api:
        for name, given in INVALID_RULES:
            timing = {part: value for part, value in given.items() if part != "rules"}
            body = {"target": TARGET, "schedule": timing} | {part: given[part] for part in given.keys() & {"rules"}}
            answer = await api.post("/v1/jobs", json=body)
            answers[name] = (answer.status_code, answer.json()["code"])
    assert {name: found for name, found in answers.items() if found != (422, InvalidSchedule.code)} == {}


def test_the_python_client_refuses_every_invalid_schedule(db: Session) -> None:
    taken = []
    for name, given in INVALID_RULES:
        with suppress(InvalidSchedule):
            pgsched.schedule(db, TARGET, **given)
            taken.append(name)
    assert taken == []


def test_the_command_line_refuses_every_invalid_schedule(store_url: str) -> None:
    wrong = {}
    for name, given in INVALID_RULES:
        rules = given.get("rules", {})
        if not isinstance(rules, dict):
            continue  # the command line has a flag for each rule
        flags = [f"--{part.replace('_', '-')}={value}" for part, value in given.items() if part != "rules"]
        flags += [f"--rule={rule}={json.dumps(value)}" for rule, value in rules.items()]
        found = CliRunner().invoke(cli, ["schedule", TARGET, "--json", *flags], env=at(store_url))
        code = json.loads(found.stdout or "{}").get("error", {}).get("code")
        if (found.exit_code, code) != (2, InvalidSchedule.code):
            wrong[name] = (found.exit_code, found.output)
    assert wrong == {}


async def test_sql_or_the_planner_refuses_every_invalid_schedule(db: Session, worker: Connection) -> None:
    refused = {name: _refused(db, name, given) for name, given in INVALID_RULES}
    others = {name for name, error in refused.items() if error is not None and not isinstance(error, InvalidSchedule)}
    assert others <= MEANT_IN_SQL
    taken = {name for name, error in refused.items() if error is None} - MEANT_IN_SQL
    db.execute("delete from pgsched.jobs where key = any (%s)", [[*MEANT_IN_SQL]])
    while (await plan_jobs(worker, batch=10, seconds=60))[1]:
        pass
    found = db.execute("select key, state::text, split_part(reason, ': ', 1) from pgsched.jobs").fetchall()
    assert sorted(found) == [(name, "invalid", InvalidSchedule.code) for name in sorted(taken)]


def _refused(db: Session, name: str, given: dict[str, Any]) -> Exception | None:
    """Return the error for a job with this key and schedule, or None if the job is accepted."""
    values = {
        part: Jsonb(value) if part == "rules" else value
        for part, value in given.items()
        if part not in {"gap", "overlap"}
    }
    arguments = ", ".join(f"{part} => cast(%({part})s as {_TYPES.get(part, 'text')})" for part in values)
    try:
        with db.transaction():
            query = f"select pgsched.schedule('{TARGET}', key => %(key)s, {arguments})"
            [id] = row(db, query.encode(), values | {"key": name})
            for part in given.keys() & {"gap", "overlap"}:
                db.execute(f"update pgsched.jobs set {part} = %s where id = %s".encode(), [given[part], id])
    except psycopg.Error as error:
        return refusal(error) or error
    return None


def test_sql_accepts_every_cron_expression_that_workers_can_parse(db: Session) -> None:
    expressions = [expression for expression, _ in FIRST_INSTANTS]
    refused = "select e from unnest(%s::text[]) e where pgsched_internal.check_cron(e) is not true"
    assert column(db, refused, [expressions]) == []


async def test_a_job_found_invalid_by_a_worker_shows_the_error_code(
    db: Session, worker: Connection, store_url: str
) -> None:
    schedule(db, cron="0 0 30-31 2 *")
    await plan_jobs(worker, batch=10, seconds=60)
    async with serving(create_app(Settings(database_url=store_url))) as api:
        [found] = (await api.get("/v1/jobs?state=invalid")).json()["items"]
    assert found["reason"].startswith(f"{InvalidSchedule.code}: cron '0 0 30-31 2 *' never occurs")
    asked = ["jobs", "show", found["id"], "--json"]
    shown = await asyncio.to_thread(CliRunner().invoke, cli, asked, env=at(store_url))
    assert json.loads(shown.stdout)["reason"] == found["reason"]
