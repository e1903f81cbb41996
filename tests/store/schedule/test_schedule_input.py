"""Refused input: the SQLSTATE or constraint and the hint, and that nothing is written."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.store.store_arrange import TARGET, Connection, call, counts, on_job, refused, schedule

TARGETS = [
    (None, "write what to call"),
    ("", "write what to call"),
    ("ftp://files.example/a", "https://host/path"),
    ("shop.example/settle", "https://host/path"),
    ("javascript:alert(1)", "https://host/path"),
    ("https://shop.example/two words", "percent-encoded"),
    ("https://shop.example/settle#top", "without spaces or a fragment"),
    ("https://shop.example/\u00fc", "percent-encoded"),
    ("https:///settle", "https://host"),
    ("https://user:password@shop.example/", "Authorization"),
    ("https://user@shop.example/", "Authorization"),
    ("https://shop.example:99999/", "https://host:8443/path"),
    ("https://shop.example:0/", "https://host:8443/path"),
    ("https://shop.example:port/", "https://host"),
    ("https://shop.example/" + "a" * 2048, "payload"),
    ("python:", "python:send_email"),
    ("python:send email", "python:send_email"),
    ("sql:settle", "sql:billing.settle"),
    ("sql:billing.settle; drop table x", "sql:billing.settle"),
    ("notify:", "notify:orders"),
    ("queue:orders", "queue => 'orders'"),
    ("kafka:", "kafka:orders"),
]

SCHEDULES: list[tuple[dict[str, Any], str]] = [
    ({"cron": "* * * * *", "fire_at": "2040-01-01Z"}, "at most one"),
    ({"cron": "* * * * *", "every": "1 hour"}, "at most one"),
    ({"fire_at": "2040-01-01Z", "delay": "1 hour"}, "at most one"),
    ({"timezone": "Europe/Berlin", "delay": "1 hour"}, "its own offset"),
    ({"delay": "-1 second"}, "10 minutes"),
    ({"fire_at": "infinity"}, "now() + interval"),
    ({"fire_at": "0044-03-15 BC"}, "now() + interval"),
    ({"fire_at": "0044-03-15 BC"}, "now() + interval"),
    ({"fire_at": "10000-01-01Z"}, "now() + interval"),
    ({"delay": "9000 years"}, "now() + interval"),
    ({"cron": "* * * * *", "timezone": "Mars/Olympus"}, "Europe/Berlin"),
    ({"cron": "* * * * *", "timezone": ""}, "Europe/Berlin"),
    ({"cron": ""}, "five fields"),
    ({"cron": "every minute"}, "five fields"),
    ({"cron": "* * * *"}, "five fields"),
    ({"every": "0 seconds"}, "15 minutes"),
    ({"every": "-1 hour"}, "15 minutes"),
    ({"every": "500 milliseconds"}, "15 minutes"),
    ({"every": "1 month"}, "15 minutes"),
    ({"every": "4000 days"}, "15 minutes"),
]

OPTIONS: list[tuple[Any, str]] = [
    ({"retries": 3}, "the options are timeout"),
    ([], "write options =>"),
    ("PT5S", "write options =>"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"max_attempts": 1001}, "max_attempts"),
    ({"max_attempts": 2.5}, "max_attempts"),
    ({"max_attempts": "5"}, "max_attempts"),
    ({"max_attempts": None}, "max_attempts"),
    ({"timeout": 5}, "PT5S"),
    ({"timeout": "soon"}, "PT5S"),
    ({"timeout": "PT"}, "PT5S"),
    ({"headers": ["X-Shop"]}, "X-Shop"),
    ({"headers": {"X-Shop": 42}}, "X-Shop"),
    ({"method": "FETCH"}, "POST"),
    ({"method": None}, "POST"),
    ({"backoff": "1s"}, "initial"),
    ({"retry_on": 404}, "retry_on"),
    ({"fail_on": {"500": True}}, "fail_on"),
    ({"timeout": "PT0.05S"}, "PT5S"),
    ({"timeout": "25h"}, "PT5S"),
    ({"backoff": None}, "initial"),
    ({"backoff": {"start": "1s"}}, "initial"),
    ({"backoff": {"initial": 1}}, "initial"),
    ({"backoff": {"maximum": "8 days"}}, "initial"),
    ({"backoff": {"factor": 0.5}}, "factor"),
    ({"backoff": {"factor": "2"}}, "factor"),
    ({"retry_on": [200]}, "retry_on"),
    ({"retry_on": [404.5]}, "retry_on"),
    ({"retry_on": ["404"]}, "retry_on"),
    ({"fail_on": [[500]]}, "fail_on"),
    ({"fail_on": None}, "fail_on"),
    ({"fail_on": None, "backoff": ["5s"]}, "fail_on"),
    ({"backoff": []}, "5s"),
    ({"backoff": ["5s", 60]}, "5s"),
    ({"backoff": ["8d"]}, "5s"),
    ({"backoff": ["1s"] * 101}, "5s"),
    ({"relevant_for": 600}, "relevant_for"),
    ({"relevant_for": "50ms"}, "relevant_for"),
    ({"max_retry_age": "3654d"}, "relevant_for"),
    ({"deadline": None}, "relevant_for"),
    ({"on_success": None}, "https://shop.example/told"),
    ({"on_failure": ["python:told"]}, "on_failure"),
    ({"on_expired": {"target": "python:told"}}, "on_expired"),
]


@pytest.mark.parametrize(("target", "hint"), TARGETS)
def test_an_invalid_target_is_refused_with_a_hint(db: Connection, target: str | None, hint: str) -> None:
    with refused("PS001", hint=hint):
        schedule(db, target=target)
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize("name", ["on_success", "on_failure", "on_expired"])
@pytest.mark.parametrize(("target", "hint"), [pair for pair in TARGETS if pair[0] is not None])
def test_an_invalid_outcome_target_is_refused_with_a_hint(db: Connection, target: str, hint: str, name: str) -> None:
    with refused("PS001", hint=hint):
        schedule(db, options={name: target})
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize(("target", "hint"), [pair for pair in TARGETS if pair[0] is not None])
def test_a_plain_insert_with_an_invalid_target_is_refused(db: Connection, target: str, hint: str) -> None:
    with refused("PS001", hint=hint):
        db.execute("insert into pgsched.executions (target, fire_at) values (%s, now())", [target])
    with refused("PS001", hint=hint):
        db.execute("insert into pgsched.jobs (target, cron) values (%s, '@daily')", [target])
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize(
    "target",
    [
        "https://shop.example",
        "http://127.0.0.1:8080/settle?order=42&retry=no",
        "https://shop.example:65535/",
        "HTTPS://Shop.Example/%C3%BC",
        "https://a/",
        "https://a_b.example/@me",
        "http://[::1]:8080/",
        "https://shop.example?order=42",
        "https://shop.example/" + "a" * 2027,
        "python:" + "a" * 200,
        "python:shop.orders:settle",
        "sql:billing.settle",
        "notify:orders",
        "kafka:orders.v1",
    ],
)
def test_a_valid_target_is_accepted(db: Connection, target: str) -> None:
    schedule(db, target=target)
    schedule(db, target=target, key="k")
    schedule(db, target=target, every="1 hour")
    assert counts(db) == (2, 1, 0)
    assert call(db, "pgsched_internal.check_target", target=target) is True


@pytest.mark.parametrize(
    "target",
    [
        "https://-shop.example/",
        "https://shop.example-/",
        "https://.shop.example/",
        "https://shop.example:/",
        "https://shop.example/\n",
        "https://shop.example:123456/",
        "http://shop.example/a#b",
        "python:" + "a" * 201,
        "python:1a",
        "python:a\n",
    ],
)
def test_a_malformed_target_is_refused(db: Connection, target: str) -> None:
    with refused("PS001"):
        call(db, "pgsched_internal.check_target", target=target)
    with refused("PS001"):
        schedule(db, target=target)
    with refused("PS001"), db.cursor().copy("copy pgsched.executions (target, fire_at) from stdin") as copy:
        copy.write_row([target, "2040-01-01Z"])
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize(("arguments", "hint"), SCHEDULES)
def test_an_invalid_schedule_is_refused(db: Connection, arguments: dict[str, Any], hint: str) -> None:
    with refused("PS002", hint=hint):
        schedule(db, **arguments)
    assert counts(db) == (0, 0, 0)


def test_an_infinite_delay_is_refused(db: Connection) -> None:
    # PostgreSQL has infinite intervals from version 17 on; earlier versions do not read the word.
    with refused("PS002" if db.info.server_version >= 170000 else "22007"):
        schedule(db, delay="infinity")
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize(("options", "hint"), OPTIONS)
def test_invalid_options_are_refused(db: Connection, options: Any, hint: str) -> None:
    with refused("PS004", hint=hint):
        schedule(db, options=Jsonb(options))
    with refused("PS004", hint=hint):
        schedule(db, options=Jsonb(options), every="1 hour")
    assert counts(db) == (0, 0, 0)


def test_valid_options_are_accepted(db: Connection) -> None:
    schedule(
        db,
        options={
            "timeout": "1m30s",
            "max_attempts": 1000,
            "backoff": {"initial": "1s", "factor": 2, "maximum": "1h"},
            "method": "PUT",
            "headers": {"X-Shop": "42"},
            "retry_on": [404],
            "fail_on": [500],
            "relevant_for": "10m",
            "max_retry_age": "PT1H",
            "deadline": "P1D",
        },
    )
    schedule(db, options={"backoff": ["5s", "PT1M"]})
    assert counts(db) == (2, 0, 0)


@pytest.mark.parametrize("when", [{}, {"key": "k"}, {"every": "1 hour"}])
def test_a_payload_over_one_mebibyte_is_refused(db: Connection, when: dict[str, Any]) -> None:
    with refused("PS003", hint="reference"):
        schedule(db, payload={"text": "x" * 1_048_576}, **when)
    assert counts(db) == (0, 0, 0)


def test_a_payload_just_under_one_mebibyte_is_accepted(db: Connection) -> None:
    schedule(db, payload={"text": "x" * 1_048_500})
    assert counts(db) == (1, 0, 0)


@pytest.mark.parametrize("when", [{}, {"every": "1 hour"}])
@pytest.mark.parametrize(
    ("arguments", "constraint"),
    [
        ({"key": "k" * 201}, "key_is_1_to_200_characters"),
        ({"key": ""}, "key_is_1_to_200_characters"),
        ({"ordering_key": "k" * 201}, "ordering_key_is_1_to_200_characters"),
        ({"ordering_key": ""}, "ordering_key_is_1_to_200_characters"),
        ({"client": ""}, "client_id_is_1_to_100_characters"),
        ({"client": "c" * 101}, "client_id_is_1_to_100_characters"),
    ],
)
def test_an_empty_or_overlong_name_violates_a_named_constraint(
    db: Connection, arguments: dict[str, Any], constraint: str, when: dict[str, Any]
) -> None:
    with refused("23514", constraint=constraint):
        schedule(db, **arguments, **when)
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize("when", [{}, {"key": "k"}, {"every": "1 hour"}])
@pytest.mark.parametrize("queue", ["orders", "", None])
def test_an_unknown_queue_is_not_found(db: Connection, queue: str | None, when: dict[str, Any]) -> None:
    with refused("PS010", hint="pgsched.queues"):
        schedule(db, queue=queue, **when)
    assert counts(db) == (0, 0, 0)


def test_a_keyed_row_in_the_wrong_partition_is_refused(db: Connection) -> None:
    with refused("PS000", hint="pgsched.partition_for"):
        db.execute(
            "insert into pgsched.executions (target, fire_at, key, partition)"
            " values (%s, now(), 'k', (pgsched.partition_for('default', 'default', 'k') + 1) %% 16)",
            [TARGET],
        )
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize("both", [{"cron": "@daily", "every": "1 hour"}, {}])
def test_an_inserted_job_requires_exactly_one_of_cron_and_every(db: Connection, both: dict[str, Any]) -> None:
    with refused("PS002", hint="exactly one"):
        db.execute(
            "insert into pgsched.jobs (target, cron, every) values (%s, %s, %s)",
            [TARGET, both.get("cron"), both.get("every")],
        )
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize("instant", ["-infinity", "0044-03-15 BC"])
def test_an_inserted_fire_at_before_the_earliest_instant_is_refused(db: Connection, instant: str) -> None:
    with refused("PS002", hint="now()"):
        db.execute("insert into pgsched.executions (target, fire_at) values (%s, %s)", [TARGET, instant])
    assert counts(db) == (0, 0, 0)


def test_an_insert_with_one_invalid_row_is_refused_as_a_whole(db: Connection) -> None:
    with refused("PS001"):
        db.execute(
            "insert into pgsched.executions (target, fire_at)"
            " select case n when 50 then 'nonsense' else %s end, now() from generate_series(1, 100) n",
            [TARGET],
        )
    assert counts(db) == (0, 0, 0)


@pytest.mark.parametrize("function", ["cancel", "trigger", "pause", "resume"])
def test_an_unknown_id_is_not_found(db: Connection, function: str) -> None:
    with refused("PS010", hint="pgsched."):
        call(db, function, **on_job(function, "00000000-0000-7000-8000-000000000000"))


def test_a_null_schedule_argument_is_ignored_if_another_argument_is_given(db: Connection) -> None:
    db.execute("select pgsched.schedule('python:a', delay => '1 hour', fire_at => null, cron => null, every => null)")
    db.execute("select pgsched.schedule('python:a', every => '1 hour', cron => null)")
    assert counts(db) == (1, 1, 0)


@pytest.mark.parametrize("name", ["fire_at", "delay", "cron", "every"])
def test_a_null_schedule_argument_alone_is_refused(db: Connection, name: str) -> None:
    with refused("PS002", hint="leave it out"):
        db.execute(f"select pgsched.schedule('python:a', {name} => null)".encode())
    with refused("PS002", hint="leave it out"):
        db.execute(f"select pgsched.schedule_outcome('python:a', {name} => null)".encode())
    assert counts(db) == (0, 0, 0)
