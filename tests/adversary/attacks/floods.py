"""More of everything than anybody needs."""

from tests.adversary.attack import Means, attack
from tests.adversary.attacks.locks import dead_letters
from tests.adversary.attacks.rows import with_pulled_queue


@attack(seconds=2.0)
def three_hundred_jobs_a_second(means: Means) -> None:
    means.commit("insert into pgsched.jobs (client_id, key, every, target) select 'mallory', 'j' || n, interval '1"
                 " second',"
                 " 'python:mallory' from generate_series(1, 300) n")  # fmt: skip


@attack(seconds=2.0)
def a_thousand_dead_letters_are_replayed(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at, options) select 'mallory',"
                 " 'python:mallory_fails',"
                 " now(), '{\"max_attempts\": 1}' from generate_series(1, 1000)")  # fmt: skip
    dead_letters(means, 1)
    for _ in range(3):
        means.commit('select pgsched.replay_all(\'{"client": "mallory"}\', 100000)')


@attack(seconds=2.0)
def everything_is_tried_again_at_once(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at, options) select 'mallory',"
                 " 'python:mallory_fails',"
                 " now(), '{\"max_attempts\": 1000, \"backoff\": {\"initial\": \"1ms\", \"maximum\": \"1ms\"}}'"
                 " from generate_series(1, 500)")  # fmt: skip


@attack(seconds=2.0)
def a_backlog_in_a_pulled_queue_that_nobody_pulls(means: Means) -> None:
    with_pulled_queue(means)
    means.commit("insert into pgsched.executions (client_id, target, fire_at, partition) select 'mallory',"
                 " 'queue:', now(),"
                 " pgsched.partition_for('pulled', 'mallory') from generate_series(1, 5000)")  # fmt: skip
    means.commit("select count(*) from pgsched.claim('pulled', 'mallory', 1000, '1 s')")


@attack(seconds=2.0)
def a_held_client_with_a_backlog(means: Means) -> None:
    means.house.owner.execute("select pgsched.hold_client('mallory')")
    means.at_end(lambda: means.house.owner.execute("select pgsched.release_client('mallory')"))
    means.commit("insert into pgsched.executions (client_id, target, fire_at) select 'mallory', 'python:mallory', now()"
                 " from generate_series(1, 5000)")  # fmt: skip


@attack(seconds=2.0)
def thousands_of_cancelled_rows(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at) select 'mallory', 'python:mallory',"
                 " now() + interval '1 hour' from generate_series(1, 5000)")  # fmt: skip
    means.commit("select count(pgsched.cancel(id)) from pgsched.executions where client_id = 'mallory'")


@attack(seconds=2.0)
def as_many_connections_as_there_are(means: Means) -> None:
    for _ in range(40):
        means.attempt(means.mallory(), "select 1")
