"""trigger: run a job once more now, outside its schedule."""

from tests.store.store_arrange import Connection, call, column, counts, planned, refused, row, schedule, status, value


def test_triggering_runs_a_job_now_outside_its_schedule(db: Connection) -> None:
    job = schedule(db, every="1 hour", payload={"n": 1}, options={"timeout": "5s"}, client="payments", ordering_key="o")
    waiting = planned(db, job)
    id = call(db, "trigger", job_id=job)
    assert row(
        db,
        "select job_id, plan, payload, options, client_id, ordering_key, fire_at <= clock_timestamp()"
        " from pgsched.executions where id = %s",
        [id],
    ) == (job, None, {"n": 1}, {"timeout": "5s"}, "payments", "o", True)
    assert status(db, waiting) == "scheduled"


def test_triggering_a_job_twice_schedules_two_runs(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    with db.transaction():
        assert call(db, "trigger", job_id=job) != call(db, "trigger", job_id=job)
    assert counts(db) == (2, 1, 0)


def test_a_paused_job_can_be_triggered(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    call(db, "pause", kind="job", name=str(job))
    assert status(db, call(db, "trigger", job_id=job)) == "scheduled"


def test_triggering_a_finished_job_leaves_it_finished(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    db.execute("update pgsched.jobs set state = 'finished'")
    assert status(db, call(db, "trigger", job_id=job)) == "scheduled"
    assert value(db, "select state::text from pgsched.jobs") == "finished"


def test_a_cancelled_job_cannot_be_triggered(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    call(db, "cancel", id=job)
    with refused("PS011", hint="schedule it again"):
        call(db, "trigger", job_id=job)


def test_planned_and_triggered_rows_of_a_job_share_a_partition(db: Connection) -> None:
    job = schedule(db, every="1 hour", key="hourly")
    planned(db, job)
    for _ in range(4):
        call(db, "trigger", job_id=job)
    assert len(set(column(db, "select partition from pgsched.executions"))) == 1


def test_two_triggers_in_one_microsecond_get_different_instants(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    with db.transaction(force_rollback=True):
        have_two_inserts_meet(db)
        first, second = (call(db, "trigger", job_id=job) for _ in range(2))
        assert value(db, "select last_value from rows_made") == 3
        assert column(db, "select id from pgsched.executions order by scheduled_for") == [first, second]


def have_two_inserts_meet(db: Connection) -> None:
    """Give the next two inserted rows the same instant."""
    db.execute("create sequence rows_made; grant usage on sequence rows_made to pgsched_owner")
    db.execute(
        "create function at_one_instant() returns trigger language plpgsql as $$ begin"
        "  if nextval('public.rows_made') <= 2 then new.scheduled_for := '2026-03-01T09:00:00Z'; end if;"
        " return new; end $$"
    )
    db.execute(
        "create trigger at_one_instant before insert on pgsched.executions"
        " for each row execute function at_one_instant()"
    )
