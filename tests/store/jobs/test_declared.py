"""Declared jobs are changed by their declaration, and elsewhere only by force."""

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgsched.store.core.refusals import refusal
from tests.store.store_arrange import Connection, call, row, schedule, value

HOURLY = {"target": "python:count", "every": "1 hour", "key": "hourly"}


def refused(db: Connection, query: str, parameters: list[object]) -> str:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(query.encode(), parameters)
    found = refusal(caught.value)
    assert found is not None
    assert found.code == "pgsched.conflict"
    return str(found)


def test_editing_a_declared_job_requires_force(db: Connection) -> None:
    job = schedule(db, **HOURLY)
    assert call(db, "edit", id=job, changes={"declared_by": "shop.handlers:app"}, actor="ann") is True
    said = refused(db, "select pgsched.edit(%s, %s)", [job, Jsonb({"every": "2h"})])
    assert f"job {job} is declared by 'shop.handlers:app'" in said
    assert "force => true" in said
    assert call(db, "edit", id=job, changes={"every": "1h"}) is False  # no difference
    assert call(db, "edit", id=job, changes={"every": "2h"}, force=True) is True
    assert row(db, "select every = '2 hours', declared_by from pgsched.jobs") == (True, "shop.handlers:app")


def test_scheduling_a_declared_jobs_key_with_new_values_is_refused(db: Connection) -> None:
    job = schedule(db, **HOURLY)
    call(db, "edit", id=job, changes={"declared_by": "jobs.toml"})
    refused(db, "select pgsched.schedule('python:count', every => '2 hours', key => %s)", ["hourly"])
    assert call(db, "schedule", **HOURLY | {"on_conflict": "keep"}) == job
    assert value(db, "select every = '1 hour' from pgsched.jobs") is True


def test_a_declared_job_can_be_paused_resumed_triggered_and_cancelled(db: Connection) -> None:
    job = schedule(db, **HOURLY)
    call(db, "edit", id=job, changes={"declared_by": "jobs.toml"})
    assert call(db, "pause", kind="job", name=str(job)) is True
    assert call(db, "resume", kind="job", name=str(job)) is True
    assert call(db, "trigger", job_id=job) is not None
    assert call(db, "cancel", id=job) is True


def test_setting_declared_by_is_audited_and_can_be_undone(db: Connection) -> None:
    job = schedule(db, **HOURLY)
    call(db, "edit", id=job, changes={"declared_by": "jobs.toml"}, actor="ann")
    assert call(db, "edit", id=job, changes={"declared_by": "jobs.toml"}) is False
    assert call(db, "edit", id=job, changes={"declared_by": None}) is True
    assert call(db, "edit", id=job, changes={"every": "2h"}) is True
    logged = "select actor, before, after from pgsched.audit_log where action = 'edit' order by id limit 1"
    assert row(db, logged) == ("ann", None, {"declared_by": "jobs.toml"})
