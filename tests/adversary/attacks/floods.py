"""Floods: far more rows, jobs, keys and sessions than anybody needs."""

from tests.adversary.attack import Means, attack
from tests.adversary.attacks.locks import dead_letters
from tests.adversary.attacks.rows import with_limits, with_pulled_queue
from tests.adversary.house import Connection


@attack(seconds=1.5)
def thousands_of_rows_for_one_instant(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at) select 'mallory', 'python:mallory',"
                 " now() + interval '0.5 s' from generate_series(1, 5000)")  # fmt: skip


@attack(seconds=1.5)
def thousands_of_ordering_keys(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at, ordering_key, partition) select"
                 " 'mallory',"
                 " 'python:mallory', now(), 'k' || n, pgsched.partition_for('default', 'mallory', null, 'k' || n)"
                 " from generate_series(1, 5000) n")  # fmt: skip


@attack(seconds=1.5)
def thousands_of_rows_under_one_ordering_key(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at, ordering_key, partition) select"
                 " 'mallory',"
                 " 'python:mallory', now(), 'one', pgsched.partition_for('default', 'mallory', null, 'one')"
                 " from generate_series(1, 5000) n")  # fmt: skip


@attack(seconds=1.5)
def thousands_of_rows_at_a_narrow_gate(means: Means) -> None:
    with_limits(means)
    means.commit("insert into pgsched.executions (client_id, target, fire_at, options) select 'mallory',"
                 " 'python:mallory', now(),"
                 " jsonb_build_object('limit_key', 'narrow', 'priority', n % 100) from generate_series(1, 5000)"
                 " n")  # fmt: skip


@attack(seconds=1.2)
def three_hundred_jobs_a_second(means: Means) -> None:
    means.commit("insert into pgsched.jobs (client_id, key, every, target) select 'mallory', 'j' || n, interval '1"
                 " second',"
                 " 'python:mallory' from generate_series(1, 300) n")  # fmt: skip


@attack(seconds=1.2)
def a_thousand_dead_letters_are_replayed(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at, options) select 'mallory',"
                 " 'python:mallory_fails',"
                 " now(), '{\"max_attempts\": 1}' from generate_series(1, 1000)")  # fmt: skip
    dead_letters(means, 1)
    for _ in range(3):
        means.commit("select pgsched.bulk('replay', '{\"client\": \"mallory\"}', 100000)")


@attack(seconds=1.2)
def everything_is_retried_at_once(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at, options) select 'mallory',"
                 " 'python:mallory_fails',"
                 " now(), '{\"max_attempts\": 1000, \"backoff\": {\"initial\": \"1ms\", \"maximum\": \"1ms\"}}'"
                 " from generate_series(1, 500)")  # fmt: skip


@attack(seconds=1.2)
def a_backlog_in_a_pulled_queue_that_nobody_pulls(means: Means) -> None:
    with_pulled_queue(means)
    means.commit("insert into pgsched.executions (client_id, target, fire_at, partition) select 'mallory',"
                 " 'queue:', now(),"
                 " pgsched.partition_for('pulled', 'mallory') from generate_series(1, 5000)")  # fmt: skip
    means.commit("select count(*) from pgsched.claim('pulled', 'mallory', 1000, '1 s')")


@attack(seconds=1.2)
def a_held_client_with_a_backlog(means: Means) -> None:
    means.house.owner.execute("select pgsched.pause('client', 'mallory')")
    means.at_end(lambda: means.house.owner.execute("select pgsched.resume('client', 'mallory')"))
    means.commit("insert into pgsched.executions (client_id, target, fire_at) select 'mallory', 'python:mallory', now()"
                 " from generate_series(1, 5000)")  # fmt: skip


@attack()
def one_key_is_scheduled_by_ten_sessions(means: Means) -> None:
    """Each pauses between calls. Otherwise ten server processes would occupy the two cores, which no job scheduler can
    prevent."""
    for number in range(10):
        session = means.mallory()
        session.autocommit = True

        def schedule(session: Connection = session, number: int = number) -> None:
            session.execute(
                "select pgsched.schedule('python:mallory', client => 'mallory', key => 'k' || floor(random() * 5),"
                " ordering_key => %s)",
                [str(number)],
            )
            means.wait(0.005)

        means.keep(schedule)


@attack(seconds=1.2)
def thousands_of_cancelled_rows(means: Means) -> None:
    means.commit("insert into pgsched.executions (client_id, target, fire_at) select 'mallory', 'python:mallory',"
                 " now() + interval '1 hour' from generate_series(1, 5000)")  # fmt: skip
    means.commit("select count(pgsched.cancel(id)) from pgsched.executions where client_id = 'mallory'")


@attack(seconds=1.2)
def as_many_connections_as_there_are(means: Means) -> None:
    for _ in range(40):
        means.attempt(means.mallory(), "select 1")


@attack(seconds=4)
def thousands_of_jobs_for_each_second(means: Means) -> None:
    jobs_for_each_second(means, count=2_000)


@attack(seconds=4)
def thousands_of_clients_with_five_rows_each(means: Means) -> None:
    """No client has more than its share."""
    clients_with_rows(means, clients=2_000, each=5)


def jobs_for_each_second(means: Means, *, count: int, rules: str = "{}") -> None:
    _at_length(means, "insert into pgsched.jobs (client_id, key, every, target, rules) select 'mallory', 'j' || n,"
               " interval '1 second', 'python:mallory', %s::jsonb from generate_series(1, %s) n",
               rules, count)  # fmt: skip


def clients_with_rows(means: Means, *, clients: int, each: int) -> None:
    owner = means.house.owner
    means.at_end(lambda: owner.execute("delete from pgsched.clients where client_id like 'mallory-%'"))
    means.at_end(lambda: owner.execute("delete from pgsched.executions where client_id like 'mallory-%'"))
    owner.execute("insert into pgsched.clients (client_id) select 'mallory-' || n from generate_series(1, %s) n",
                  [clients])  # fmt: skip
    owner.execute("insert into pgsched.executions (client_id, target, fire_at) select 'mallory-' || n %% %s + 1,"
                  " 'python:mallory', now() from generate_series(1, %s) n", [clients, clients * each])  # fmt: skip


def hosts_that_refuse(means: Means, *, count: int) -> None:
    _at_length(means, "insert into pgsched.executions (client_id, target, fire_at) select 'mallory', 'http://127.0.'"
               " || n / 250 || '.' || n %% 250 + 1 || ':9/', now() from generate_series(1, %s) n", count)  # fmt: skip


def rows_that_are_due(means: Means, *, count: int) -> None:
    _at_length(means, "insert into pgsched.executions (client_id, target, fire_at) select 'mallory', 'python:mallory',"
               " now() from generate_series(1, %s) n", count)  # fmt: skip


def rows_under_ordering_keys(means: Means, *, count: int, keys: int) -> None:
    _at_length(means, "insert into pgsched.executions (client_id, target, fire_at, ordering_key, partition) select"
               " 'mallory', 'python:mallory', now(), k, pgsched.partition_for('default', 'mallory', null, k)"
               " from (select 'k' || n %% %s as k from generate_series(1, %s) n) as keys", keys, count)  # fmt: skip


def _at_length(means: Means, statement: str, *parameters: object) -> None:
    """Executes a statement of mallory that may take up to 20 seconds."""
    session = means.mallory()
    session.autocommit = True
    means.attempt(session, "set statement_timeout = '20s'")
    means.attempt(session, statement, parameters)
