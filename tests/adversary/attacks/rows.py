"""Rows with instants, numbers, sizes and counts at the limits of their types."""

import json
from collections.abc import Iterable
from functools import partial

from tests.adversary.attack import Means, attack

_YEAR_ONE = ("0001-01-01T00:00:00Z", "0001-01-01T12:00:00Z", "0001-01-01T23:59:59.999999Z")
_EDGES = (*_YEAR_ONE, "9999-12-31T00:00:00Z", "9999-12-30T23:59:59.999999Z", "infinity", "-infinity",
          "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999Z", "1970-01-01T00:00:00Z", "epoch")  # fmt: skip


def _schedule_all(means: Means, instants: Iterable[str], **arguments: str) -> None:
    for number, instant in enumerate(instants):
        given = {name: value.replace("{0}", str(number)) for name, value in arguments.items()}
        means.schedule(fire_at=instant, **given)


def _the_year_one_under_an_ordering_key(means: Means) -> None:
    _schedule_all(means, _EDGES, ordering_key="{0}")
    means.schedule(target="python:mallory_slow", ordering_key="busy")
    means.wait(0.2)
    _schedule_all(means, _YEAR_ONE, ordering_key="busy")


@attack(after_mount=True)
def the_year_one_when_workers_start(means: Means) -> None:
    """The first claim of a worker starts at the earliest instant and takes all rows there together."""
    with_limits(means)
    with_pulled_queue(means)
    means.schedule(target="python:mallory_slow", ordering_key="busy")
    for options in (None, '{"limit_key": "shut"}'):
        _schedule_all(means, _EDGES[:5], ordering_key="busy", **({"options": options} if options else {}))
        _schedule_all(means, _YEAR_ONE, key="{0}", **({"options": options} if options else {}))
    _schedule_all(means, _EDGES, queue="pulled", target="queue:", ordering_key="in turn")
    means.cut()


@attack()
def the_year_one_behind_a_gate(means: Means) -> None:
    with_limits(means)
    _schedule_all(means, _EDGES, options='{"limit_key": "narrow"}')
    _schedule_all(means, _EDGES, options='{"limit_key": "shut"}')
    _schedule_all(means, _YEAR_ONE, ordering_key="both", options='{"limit_key": "narrow"}')


def _the_year_one_in_a_pulled_queue(means: Means) -> None:
    with_pulled_queue(means)
    _schedule_all(means, _EDGES, queue="pulled", target="queue:")
    _schedule_all(means, _EDGES, queue="pulled", target="queue:", ordering_key="in turn")
    for _ in range(3):
        means.commit("select * from pgsched.claim('pulled', 'mallory', 100)")


def _the_year_one_by_rest(means: Means) -> None:
    for instant in _EDGES[:5]:
        for more in ({}, {"ordering_key": "o"}, {"key": "k" + instant}):
            means.post("/v1/jobs", client="mallory", target="python:mallory", schedule={"fire_at": instant}, **more)


def _edges_of_time_by_plain_inserts(means: Means) -> None:
    for column in ("fire_at", "scheduled_for"):
        for instant in _EDGES:
            given = {"fire_at": "now()", "scheduled_for": "now()"} | {column: f"'{instant}'"}
            means.commit(
                "insert into pgsched.executions (client_id, target, fire_at, scheduled_for)"
                f" values ('mallory', 'python:mallory', {given['fire_at']}, {given['scheduled_for']})"
            )


def _an_instant_moved_to_the_year_one(means: Means) -> None:
    for instant in _EDGES:
        id = means.schedule(delay="1 hour", ordering_key=f"moved to {instant}")
        means.commit("select pgsched.edit(%s, jsonb_build_object('fire_at', %s::timestamptz))", [id, instant])
        means.schedule(key="debounced", fire_at=instant, on_conflict="debounce", ordering_key="moved")


def _numbers_that_are_a_gigabyte_of_text(means: Means) -> None:
    bomb = "[" + ",".join(["1e131000"] * 9000) + "]"
    for more in ({}, {"ordering_key": "o"}, {"options": '{"limit_key": "narrow"}'}):
        means.schedule(payload=bomb, **more)
    means.schedule(payload="[" + ",".join(["1e-16000"] * 9000) + "]")


def _three_hundred_large_numbers_a_row(means: Means) -> None:
    for _ in range(10):
        means.schedule(payload="[" + ",".join(["1e131000"] * 300) + "]")


def _numbers_that_are_a_gigabyte_by_rest(means: Means) -> None:
    for more in (f'"payload": [{",".join(["1e131000"] * 9000)}]', f'"options": {{"retry_on": [300.{"0" * 100_000}]}}'):
        body = f'{{"client": "mallory", "target": "python:mallory", {more}}}'
        means.rest().post("/v1/jobs", content=body, headers={"content-type": "application/json"})


def _a_job_with_numbers_that_are_a_gigabyte(means: Means) -> None:
    bomb = "[" + ",".join(["1e131000"] * 9000) + "]"
    means.schedule(every="1 second", key="bomb", payload=bomb)
    means.schedule(every="1 second", key="bomb 2", rules=f'{{"jitter": "PT1.{"0" * 120_000}S"}}')


def _options_without_end(means: Means) -> None:
    digits = "0" * 120_000
    means.schedule(options=json.dumps({"headers": {"x-large": "x" * 20_000_000}}))
    means.schedule(options=json.dumps({"headers": {f"x-{n}": "y" * 200 for n in range(20_000)}}))
    means.schedule(options=f'{{"retry_on": [300.{digits}]}}')
    means.schedule(options=f'{{"retry_on": [{",".join(["300"] * 200_000)}]}}')
    means.schedule(options=f'{{"max_attempts": 3.{digits}}}')
    means.schedule(options=f'{{"priority": 1.{digits}}}')
    means.schedule(options=f'{{"backoff": [{",".join(["1e-100000"] * 100)}]}}')
    means.schedule(options=f'{{"backoff": {{"initial": "1s", "factor": 1.{digits}1}}}}')
    means.schedule(options=f'{{"timeout": "PT0.{digits}S"}}')


def _nested_as_deep_as_it_goes(means: Means) -> None:
    for depth in (200, 1_000, 6_000):
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            inner = "1" if opening != "[" else ""
            payload = opening * depth + inner + closing * depth
            means.schedule(payload=payload)
            means.rest().post(
                "/v1/jobs",
                content=f'{{"client": "mallory", "target": "python:mallory", "payload": {payload}}}',
                headers={"content-type": "application/json"},
            )


@attack(seconds=2.0)
def a_megabyte_in_each_of_four_hundred_rows(means: Means) -> None:
    means.commit(
        "insert into pgsched.executions (client_id, target, fire_at, payload)"
        " select 'mallory', 'python:mallory_slow', now(), to_jsonb(repeat('x', 1000000)) from generate_series(1, 400)"
    )


def _counters_of_a_job_at_their_end(means: Means) -> None:
    for column in ("runs", "revision"):
        id = means.schedule(every="1 second", key=f"job of {column}", rules='{"max_runs": 1000000}')
        means.commit(f"update pgsched.jobs set {column} = 2147483647 where id = %s", [id])
    id = means.schedule(every="1 second", key="job of attempts")
    means.commit("update pgsched.executions set attempt = 1000 where job_id = %s", [id])


def _a_job_edited_beyond_count(means: Means) -> None:
    id = means.schedule(every="1 second", key="edited")
    for number in range(60):
        means.commit("select pgsched.edit(%s, jsonb_build_object('payload', %s::int))", [id, number])
    for _ in range(40):
        means.commit("select pgsched.trigger(%s)", [id])
        means.commit("select pgsched.pause('job', %s::text)", [id])
        means.commit("select pgsched.resume('job', %s::text)", [id])
    for column, found in (("accounted_to", "'1970-01-01Z'"), ("accounted_to", "'9999-12-31Z'"), ("anchor",
        "'0001-01-02Z'"),
                          ("anchor", "'9000-01-01Z'"), ("paused_at", "'1970-01-01Z'"), ("planned_revision", "0"),
                          ("failures", "2147483647")):  # fmt: skip
        means.commit(f"update pgsched.jobs set {column} = {found} where id = %s", [id])


def _jobs_at_the_edges_of_their_rules(means: Means) -> None:
    for number, rules in enumerate((
        '{"starts_at": "0001-01-02T00:00:00Z", "on_missed": "all", "catch_up": "3000d"}',
        '{"anchor": "0001-01-02T00:00:00Z"}',
        '{"anchor": "9000-01-01T00:00:00Z"}',
        '{"ends_at": "9999-12-30T00:00:00Z", "jitter": "24h"}',
        '{"max_runs": 2147483647, "pause_after": 2147483647}',
        '{"max_runs": 9223372036854775807}',
        '{"window": "00:00-00:01", "jitter": "1s"}',
        '{"exclude": ["2000-01-01/9999-12-31"]}',
        '{"also": ["* * * * * *", "*/7 * * * *"], "exclude": ["2026-01-01/2026-12-31"]}',
        '{"after_completion": true, "on_overlap": "cancel_running"}',
    )):  # fmt: skip
        means.schedule(every="1 second", key=f"rules {number}", rules=rules)
        means.schedule(cron="* * * * * *", key=f"cron {number}", rules=rules, timezone="Antarctica/Troll")
    for cron in (
        "0 0 29 2 *",
        "0 0 31 2 *",
        "59 59 23 31 12 *",
        "*/1 * * * * *",
        "0 0 1 1 0-7",
        "0 0 L * *",
        "H H H H H",
    ):
        means.schedule(cron=cron, key=cron)


def _characters_that_nobody_expects(means: Means) -> None:
    names = ["\u0001\u0002\u001b[2J", "\u202e\u2066", "\U0010ffff" * 50, "'; drop schema pgsched; --", "a/b:c,d@1",
        "%s%(x)s{0}",
             "order", "client:first", "\\x00", "\ufeff\u200b", " ", "\n"]  # fmt: skip
    for name in names:
        means.schedule(key=name, ordering_key=name)
        means.schedule(key=name + "x", labels=None, options=json.dumps({"limit_key": name}))
        means.schedule(every="1 second", key=name, labels=json.dumps({"label": name}))
        means.schedule(payload=json.dumps({name: name}))
        means.schedule(target=f"notify:{name}")
        means.post("/v1/jobs", client="mallory", target="python:mallory", key=name, payload=name)
        means.post("/v1/jobs", client=name, target="python:mallory")


@attack(seconds=1.5)
def targets_that_cannot_be_delivered(means: Means) -> None:
    for target in ("python:unheard_of", "kafka:topic", "sql:pg_catalog.pg_sleep", "sql:nowhere.at_all",
                   "notify:pgsched_wake",
                   "http://0.0.0.0:1/", "http://[::1]:9/", "http://localhost:1/", "https://nowhere.invalid/", "queue:",
                   "http://127.0.0.1:1/" + "x" * 1900):  # fmt: skip
        means.commit(
            "select pgsched.schedule(%s, payload => '{\"x\": 1}', client => 'mallory') from generate_series(1, 30)",
            [target],
        )


@attack()
def the_limits_of_time_in_every_way(means: Means) -> None:
    means.mount(
        _the_year_one_under_an_ordering_key,
        _the_year_one_in_a_pulled_queue,
        _the_year_one_by_rest,
        _edges_of_time_by_plain_inserts,
        _an_instant_moved_to_the_year_one,
    )


@attack()
def numbers_that_are_gigabytes(means: Means) -> None:
    means.mount(
        _numbers_that_are_a_gigabyte_of_text,
        _three_hundred_large_numbers_a_row,
        _numbers_that_are_a_gigabyte_by_rest,
        _a_job_with_numbers_that_are_a_gigabyte,
    )


@attack()
def jobs_at_the_limits_of_their_counts_and_rules(means: Means) -> None:
    means.mount(_counters_of_a_job_at_their_end, _a_job_edited_beyond_count, _jobs_at_the_edges_of_their_rules)


@attack()
def unexpected_options_and_payloads(means: Means) -> None:
    means.mount(_options_without_end, _nested_as_deep_as_it_goes, _characters_that_nobody_expects)


def with_limits(means: Means) -> None:
    """Sets limits for mallory, as an operator does."""
    operator = means.operator()
    for kind, name in (("key", "mallory/narrow"), ("client", "mallory")):
        operator.execute("select pgsched.set_limit(%s, %s, rate => 50, burst => 5, concurrency => 20)", [kind, name])
        means.at_end(partial(means.house.owner.execute, "select pgsched.drop_limit(%s, %s)", [kind, name]))
    operator.execute("select pgsched.set_limit('key', 'mallory/shut', rate => 1, per => '1 day')")
    means.at_end(lambda: means.house.owner.execute("select pgsched.drop_limit('key', 'mallory/shut')"))


def with_pulled_queue(means: Means, *names: str) -> None:
    """Creates pulled queues. They stay, since creating one takes a while."""
    owner = means.house.owner
    for name in names or ("pulled",):
        if not owner.execute("select from pgsched.queues where name = %s", [name]).fetchall():
            owner.execute("select pgsched.create_queue(%s, '{\"pulled\": true}')", [name])
