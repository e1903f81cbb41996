"""A payload that cannot be sent in the requested body format is refused, wherever it is scheduled or changed."""

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

import pgsched
from pgsched.errors import InvalidPayload
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import Connection, call, schedule, value

_TEXT = {"body": {"format": "text"}}


@pytest.mark.parametrize("how", [{}, {"key": "k"}, {"every": "1 hour"}, {"ordering_key": "o"}, {"queue": "default"}])
def test_schedule_refuses_a_payload_that_does_not_fit_the_body(db: Connection, how: dict[str, Any]) -> None:
    schedule(db, payload=Jsonb("a"), options=_TEXT, **how)
    schedule(db, options=_TEXT, **how)
    with pytest.raises(psycopg.Error, match="does not fit the body format text") as raised:
        schedule(db, payload={"a": 1}, options=_TEXT, **how)
    assert raised.value.sqlstate == "PS003"


def test_an_edit_refuses_a_payload_that_does_not_fit_the_body(db: Connection) -> None:
    id, job = (schedule(db, payload=Jsonb("a"), options=_TEXT, **how) for how in ({}, {"every": "1 hour"}))
    for edited in (id, job):
        for changes in ({"payload": 5}, {"options": {"body": {"format": "form"}}}):
            with pytest.raises(psycopg.Error, match="does not fit the body format"):
                call(db, "edit", id=edited, changes=changes)
        call(db, "edit", id=edited, changes={"payload": "b"})


def test_inserts_and_replays_refuse_a_payload_that_does_not_fit_the_body(db: Connection) -> None:
    with pytest.raises(psycopg.Error, match="does not fit the body format"):
        db.execute("""insert into pgsched.jobs (target, every, payload, options)
                      values ('https://a', '1 hour', '5', '{"body": {"format": "text"}}')""")
    letter = dead_letter(db, payload=Jsonb("a"), options=_TEXT)
    with pytest.raises(psycopg.Error, match="does not fit the body format"):
        call(db, "replay", id=letter, payload=Jsonb(5))
    assert call(db, "replay", id=letter, payload=Jsonb("b"))


def test_schedule_many_refuses_a_payload_that_does_not_fit_the_body(db: Connection, store_url: str) -> None:
    good: Any = {"target": "https://a", "payload": "a", "options": _TEXT}
    for bad in (good | {"payload": [1]}, good | {"payload": 5, "key": "k"}):
        with psycopg.connect(store_url) as connection, pytest.raises(InvalidPayload, match="write a JSON string"):
            pgsched.schedule_many(connection, [good, bad])
    assert value(db, "select count(*) from pgsched.executions") == 0


def test_the_body_option_cannot_be_a_client_default(db: Connection) -> None:
    with pytest.raises(psycopg.Error, match="cannot be defaults"):
        call(db, "set_client", client="shop", changes={"options": _TEXT})
