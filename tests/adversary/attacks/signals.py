"""Notifications by a login without rights. Workers treat them only as hints."""

import itertools

from tests.adversary.attack import Means, attack
from tests.adversary.house import Connection

_NUMBERS = ("3@-99999999999999999999999", "1@--5", "²@²", "3@" + "9" * 5_000, "9" * 5_000 + "@1", "0@0", "-1@1", "1@",
    "@1", "@",
            "3@-9223372036854775808", "3@9223372036854775807", "3@٣", "৩@৩", "1e9@1e9", "3@nan", "3@inf", "0x3@0x3",
            "3@1_000",
            "32767@1", "65536@1", "3@1@2", " 3 @ 5 ", "3@0.5", "3@+5", "15@-946684800000000", "①@①",
            "3@- 5")  # fmt: skip
_WORDS = ("plan", "clients", "queues", "release", "bulk", "gates", "turns", "", ",", ",,,,", "stop",
    "stop ", "stop x",
          "stop 00000000-0000-0000-0000-000000000000",
          "stop " + ",".join(["00000000-0000-0000-0000-000000000000"] * 200),
          "stop " + "x" * 7_000, "\u0001\u001b[2J", "null", "{}", "True", "a" * 7_999)  # fmt: skip


_OWN_CHANNELS = (
    "select distinct 'pgsched_worker_' || substring(application_name from '^pgsched listen ([0-9a-f]+)$')"
    " from pg_stat_activity where application_name ~ '^pgsched listen [0-9a-f]+$'"
)


def channels(connection: Connection) -> list[str]:
    """Returns all channels: the workers' common one, and those of single workers, whose names everybody can see."""
    return ["pgsched_wake", "pgsched_api", "pgsched", *(name for (name,) in connection.execute(_OWN_CHANNELS))]


def tell(means: Means, connection: Connection, channel: str, payload: str) -> None:
    means.attempt(connection, "select pg_notify(%s, %s)", [channel, payload])


@attack()
def instants_out_of_range_are_announced(means: Means) -> None:
    _tell_everybody(means, _NUMBERS)


@attack()
def every_known_word_is_announced(means: Means) -> None:
    _tell_everybody(means, _WORDS)


@attack()
def numbers_are_announced_together(means: Means) -> None:
    joined = [",".join(pair) for pair in itertools.permutations(_NUMBERS[:3] + _NUMBERS[5:16], 2)]
    _tell_everybody(means, joined, only="pgsched_wake")
    _tell_everybody(means, [",".join(f"{n % 16}@{n}" for n in range(700))], only="pgsched_wake")


def _tell_everybody(means: Means, payloads: tuple[str, ...] | list[str], only: str | None = None) -> None:
    connection = means.nobody()
    connection.autocommit = True
    for payload in payloads:
        for channel in [only] if only else channels(connection):
            tell(means, connection, channel, payload)


@attack(seconds=2.0)
def words_are_announced_endlessly(means: Means) -> None:
    """Five bursts a second of words that each trigger an action."""
    connection = means.nobody()
    connection.autocommit = True

    def burst() -> None:
        words = [word for word in _WORDS if word.isalpha() and word.islower() and len(word) < 10] * 20
        connection.execute("select pg_notify('pgsched_wake', w || repeat(' ', 0)) from unnest(%s::text[]) w", [words])
        means.wait(0.2)

    means.keep(burst)


@attack(seconds=2.0)
def missing_rows_are_announced(means: Means) -> None:
    connection = means.nobody()
    connection.autocommit = True

    def burst() -> None:
        connection.execute(
            "select pg_notify('pgsched_wake', (n % 16) || '@' || (extract(epoch from now()) * 1e6)::bigint + n)"
            " from generate_series(1, 200) n"
        )
        means.wait(0.1)

    means.keep(burst)


@attack(seconds=2.0)
def running_executions_are_announced_as_stopped(means: Means) -> None:
    """Uses ids of the first client, as one of its targets could have received them."""
    connection = means.nobody()
    connection.autocommit = True

    def stop() -> None:
        with means.house.account.lock:
            ids = list(means.house.account.promises)[-20:]
        connection.execute("select pg_notify('pgsched_wake', %s)", ["stop " + ",".join(ids)])
        means.wait(0.02)

    means.keep(stop)


@attack(seconds=1.5)
def the_notification_queue_is_full(means: Means) -> None:
    """A listener in an open transaction keeps all notifications. This server has 512 kB for them."""
    listener, speaker = means.nobody(), means.nobody()
    listener.execute("listen something")
    listener.commit()
    listener.execute("select 1")
    speaker.autocommit = True

    def fill() -> None:
        speaker.execute("select pg_notify('something', n || repeat('x', 7000)) from generate_series(1, 20) n")
        means.wait(0.01)

    means.keep(fill)
