"""Rows of several clients start in rounds: one client's hundreds of rows do not delay other clients."""

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.run.start_order import StartOrder


def row(client: str, number: int) -> ClaimedExecution:
    return ClaimedExecution(
        partition=0, id=f"{client:8}{number:08}".encode(), token=1, attempt=1, fire_at=0, scheduled_for=0,
        client_id=client, target="python:x", payload=None, options=None, job_id=None, plan=None, key=None,
        ordering_key=None,
    )  # fmt: skip


def started(rounds: StartOrder) -> list[str]:
    """The rows in the order in which lanes take them."""
    found = []
    while rounds.now:
        found.append(rounds.now.popleft().id.decode().replace(" ", "").replace("0" * 6, "-"))
        if not rounds.now:
            rounds.begin_next()
    return found


def filled(*counts: tuple[str, int], wanted: bool = True) -> StartOrder:
    rounds = StartOrder(lambda: wanted)
    for client, count in counts:
        for number in range(count):
            rounds.add(row(client, number))
    return rounds


def test_a_row_behind_another_clients_300_rows_starts_in_the_first_round() -> None:
    rounds = filled(("many", 300), ("one", 1))
    assert len(rounds) == 301
    assert started(rounds).index("one-00") == 8


def test_each_clients_rows_start_in_their_order() -> None:
    found = started(filled(("a", 50), ("b", 20), ("a", 0)))
    assert [name for name in found if name.startswith("a")] == [f"a-{n:02}" for n in range(50)]
    assert [name for name in found if name.startswith("b")] == [f"b-{n:02}" for n in range(20)]


def test_a_row_added_during_a_round_waits_behind_its_clients_rows() -> None:
    rounds = filled(("a", 30))
    for _ in range(3):
        rounds.now.popleft()
    rounds.add(row("a", 30))
    rounds.add(row("b", 0))
    assert started(rounds) == [*(f"a-{n:02}" for n in range(3, 8)), "b-00", *(f"a-{n:02}" for n in range(8, 31))]


def test_a_row_added_after_a_finished_round_starts_immediately() -> None:
    rounds = filled(("a", 8))
    assert len(started(rounds)) == 8
    rounds.add(row("a", 8))
    assert started(rounds) == ["a-08"]


def test_a_single_clients_rows_start_in_one_round() -> None:
    rounds = filled(("a", 100), wanted=False)
    assert len(rounds.now) == 100


def test_the_row_that_would_start_last_is_taken_back_first() -> None:
    rounds = filled(("a", 100), ("b", 5))
    assert rounds.take_last().id.decode() == "a       00000099"
    assert len([*rounds]) == len(rounds) == 104
    assert len(rounds.take(lambda _: True)) == 104
    assert not len(rounds)
    assert not rounds.now
