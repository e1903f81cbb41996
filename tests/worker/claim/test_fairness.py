"""Fair shares, claim by claim: which clients get their own streams, and how much room each has."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Link
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.store.live.row_filter_and_next_due import ALL_ROWS, RowFilter
from pgsched.telemetry import Events
from pgsched.worker.claim.client_streams import Stream
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.known_settings import _NO_SETTINGS, KnownSettings

NOW = 850_000_000_000_000
OVERDUE = NOW - 60_000_000


def rows(client: str, count: int, *, at: int = OVERDUE, partition: int = 0) -> list[ClaimedExecution]:
    blank = ClaimedExecution(partition, b"", 1, 1, at, at, client, "python:x", None, None, None, None, None, None)
    return [blank._replace(fire_at=at + number) for number in range(count)]


def clients(weights: dict[str, int] | None = None, *, several: bool = True) -> KnownSettings:
    """Settings for clients with these weights."""
    made = KnownSettings(Link("postgresql://", "nowhere"), Events())
    known = dict.fromkeys(["one", "another"] if several else ["one"], 1) | (weights or {})
    made._clients = {name: replace(_NO_SETTINGS, client_id=name, weight=weight) for name, weight in known.items()}
    return made


def fairness(weights: dict[str, int] | None = None, *, several: bool = True) -> Fairness:
    return Fairness(clients(weights, several=several))


def served(shares: Fairness, clients: Sequence[str], *, turns: int, free: int = 100) -> Counter[str]:
    """Return how many rows each of these clients, all with endless backlogs, gets in this many turns."""
    found: Counter[str] = Counter()
    for _ in range(turns):
        left = free
        for stream, budget in shares.budgets(free, capacity=free, taken=lambda _: 0):
            shares.served(stream, budget, budget)
            found[stream.client] += budget
            left -= budget
        first = next((client for client in clients if client not in shares.apart), None)
        asked = max(left, 10)  # there is always a little room to discover other clients
        taken = rows(first, asked) if first else []
        found.update(row.client_id for row in taken)
        shares.observe(taken, asked, NOW)
    return found


def test_a_client_that_fills_a_claim_with_overdue_rows_gets_a_stream() -> None:
    shares = fairness()
    shares.observe(rows("flood", 90) + rows("light", 10), 100, NOW)
    assert tuple(shares.apart) == ("flood",)


@pytest.mark.parametrize(
    ("taken", "asked"),
    [
        (rows("flood", 90), 100),  # the claim found less than it asked for
        (rows("flood", 90) + rows("light", 10, at=NOW), 100),  # the claim reached rows that are due now
        ([], 0),
    ],
)
def test_no_client_gets_a_stream_while_there_is_room_for_all(taken: list[ClaimedExecution], asked: int) -> None:
    shares = fairness()
    shares.observe(taken, asked, NOW)
    assert not shares.apart


def test_claims_are_behind_if_many_clients_have_few_overdue_rows() -> None:
    shares = fairness()
    shares.observe([row for n in range(50) for row in rows(f"client-{n}", 2)], 100, NOW)
    assert (shares.apart, shares.is_behind) == ({}, True)
    shares.observe(rows("light", 1), 100, NOW)
    assert not shares.is_behind


def test_claims_for_a_single_client_are_never_behind() -> None:
    shares = fairness(several=False)
    shares.observe(rows("only", 100), 100, NOW)
    assert not shares.is_behind


def test_a_single_client_gets_no_stream() -> None:
    shares = fairness(several=False)
    shares.observe(rows("flood", 100), 100, NOW)
    assert not shares.apart


def test_a_client_within_its_weighted_share_gets_no_stream() -> None:
    shares = fairness({"heavy": 9})
    shares.observe(rows("heavy", 90) + rows("light", 10), 100, NOW)
    assert not shares.apart


def test_saturating_clients_are_served_in_proportion_to_their_weights() -> None:
    weights = {"a": 1, "b": 2, "c": 5}
    shares = fairness(weights)
    served(shares, ["a", "b", "c"], turns=10)  # until all have their own streams
    found = served(shares, ["a", "b", "c"], turns=1_000)
    for client, weight in weights.items():
        assert found[client] / found.total() == pytest.approx(weight / 8, rel=0.05)


def test_a_client_that_uses_less_than_half_its_share_loses_its_stream() -> None:
    shares = fairness()
    shares.observe(rows("flood", 90) + rows("light", 10), 100, NOW)
    [(stream, budget)] = shares.budgets(100, capacity=100, taken=lambda _: 0)
    shares.served(stream, budget, budget // 2 - 1)
    assert not shares.apart


def test_a_client_with_a_held_backlog_loses_its_stream() -> None:
    shares = fairness()
    shares.observe(rows("flood", 90) + rows("light", 10), 100, NOW)
    shares.leave(["flood", "nobody"])
    assert not shares.apart


def test_unused_budget_does_not_accumulate_over_turns() -> None:
    shares = fairness()
    shares.observe(rows("flood", 90) + rows("light", 10), 100, NOW)
    for _ in range(50):
        list(shares.budgets(100, capacity=100, taken=lambda _: 0))
    [(_, budget)] = shares.budgets(100, capacity=100, taken=lambda _: 0)
    assert budget <= 100


def test_at_most_sixteen_clients_have_streams() -> None:
    shares = fairness()
    for number in range(40):
        shares.observe(rows(f"client-{number}", 100), 100, NOW)
    assert len(shares.apart) == 16


def test_streams_end_when_only_one_client_is_left() -> None:
    known_settings = clients()
    shares = Fairness(known_settings)
    shares.observe(rows("flood", 90) + rows("light", 10), 100, NOW)
    known_settings._clients = {"one": _NO_SETTINGS}
    shares.observe([], 0, NOW)
    assert not shares.apart


class Answers:
    """Answers each claim with as many overdue rows as requested, or with no rows if the claim is for priorities."""

    def __init__(self) -> None:
        self.asked: list[list[PartitionShare]] = []

    async def __call__(self, shares: Sequence[PartitionShare], row_filter: RowFilter) -> Claimed:
        if row_filter.first:
            return Claimed([], [], {})
        self.asked.append(list(shares))
        return Claimed([row for one in shares for row in rows("flood", one.batch, partition=one.partition)], [], {})


async def test_a_stream_reads_few_partitions_at_a_time_and_all_in_turn() -> None:
    stream, answers = Stream("flood"), Answers()
    for _ in range(4):
        await stream.claim(answers, range(16), 40, ALL_ROWS, batch=500)
    assert {len(shares) for shares in answers.asked} == {4}
    assert {share.partition for shares in answers.asked for share in shares} == set(range(16))


async def test_a_stream_continues_where_it_stopped_reading() -> None:
    stream, answers = Stream("flood"), Answers()
    for _ in range(2):
        assert await stream.claim(answers, [3], 10, ALL_ROWS, batch=500) == (10, 10)
    assert answers.asked == [[PartitionShare(3, LONG_AGO, 10)], [PartitionShare(3, OVERDUE + 9, 10)]]


def test_a_client_that_fills_its_claim_keeps_its_stream() -> None:
    shares = fairness()
    shares.observe(rows("flood", 90) + rows("light", 10), 100, NOW)
    [(stream, _)] = shares.budgets(4_000, capacity=4_000, taken=lambda _: 0)
    shares.served(stream, 500, 500)
    assert tuple(shares.apart) == ("flood",)


def test_a_clients_rows_in_hand_are_limited_to_its_share() -> None:
    shares = fairness()
    shares.observe(rows("flood", 90) + rows("light", 10), 100, NOW)
    [(_, budget)] = shares.budgets(2_000, capacity=4_000, taken={"flood": 1_900}.__getitem__)
    assert budget == 100
    assert not list(shares.budgets(2_000, capacity=4_000, taken={"flood": 2_000}.__getitem__))


def test_a_client_with_one_row_more_than_other_clients_gets_no_stream() -> None:
    shares = fairness()
    taken = [row for number in range(900) for row in rows(f"client-{number}", 1)] + rows("one", 2)
    shares.observe(taken, len(taken), NOW)
    assert (shares.apart, shares.is_behind) == ({}, True)


def test_delivery_during_a_turn_frees_budget_for_the_client() -> None:
    shares = fairness({"light": 1, "heavy": 3})
    shares.observe(rows("light", 50) + rows("heavy", 50), 100, NOW)
    shares.observe(rows("heavy", 100), 100, NOW)
    in_hand = {"light": 0, "heavy": 3_000}
    found = {}
    for stream, budget in shares.budgets(1_000, capacity=4_000, taken=in_hand.__getitem__):
        found[stream.client] = budget
        in_hand["heavy"] = 2_500
    assert found == {"light": 250, "heavy": 500}
