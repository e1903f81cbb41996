"""Appointments of executions that pass several gates: no gate exceeds its limits or idles because of another gate."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.gate import NEVER, Gate
from pgsched.domain.gate_appointments import AHEAD, JUST_IN_TIME, Appointment, appoint
from tests.domain.test_gate import NOW, SECOND, most_within

_RATES = st.integers(1, 500)


def rated(name: str, events: int, **given: float) -> Gate:
    return Gate(name=name, interval=SECOND / events, **given)  # type: ignore[arg-type]


def starts(found: Sequence[Appointment]) -> list[int]:
    return [appointment.start for appointment in found if appointment.behind is None]


def behind(found: Sequence[Appointment]) -> Counter[str]:
    return Counter(appointment.behind.name for appointment in found if appointment.behind)


@given(_RATES, _RATES, st.lists(st.tuples(st.integers(0, SECOND), st.booleans(), st.booleans()), max_size=60))
def test_no_gate_exceeds_its_rate(client: int, key: int, waiting: list[tuple[int, bool, bool]]) -> None:
    wide, narrow = rated("client:a", client), rated("key:a/k", key)
    ways = [[gate for gate, wanted in ((wide, one), (narrow, other)) if wanted] for _, one, other in waiting]
    found = appoint([(NOW + after, way) for (after, _, _), way in zip(waiting, ways, strict=True)], NOW)
    for gate, events in ((wide, client), (narrow, key)):
        passed = sorted(
            appointment.start for appointment, way in zip(found, ways, strict=True)
            if appointment.behind is None and gate in way
        )  # fmt: skip
        assert not passed or most_within(passed, SECOND - 10) <= events
        assert gate.drawn == len(passed)


@given(_RATES, _RATES, st.lists(st.integers(0, SECOND), max_size=60))
def test_no_start_is_early_or_beyond_the_look_ahead_time(client: int, key: int, waiting: list[int]) -> None:
    gates = [rated("client:a", client), rated("key:a/k", key)]
    for after, appointment in zip(waiting, appoint([(NOW + after, gates) for after in waiting], NOW), strict=True):
        assert appointment.behind or NOW + after <= appointment.start <= NOW + after + AHEAD


def test_executions_with_the_same_gates_pass_in_order() -> None:
    gate = rated("client:a", 100)
    found = appoint([(NOW - n, [gate]) for n in range(60)], NOW)
    assert starts(found)[::-1] == sorted(starts(found))
    assert (len(starts(found)), behind(found)) == (51, {"client:a": 9})


def test_a_wide_gate_does_not_idle_behind_a_narrow_gate() -> None:
    wide, narrow = rated("client:a", 200), rated("key:a/k", 4)
    found = appoint([(NOW, [wide, narrow])] * 10 + [(NOW, [wide])] * 100, NOW)
    assert sorted(starts(found)) == [NOW + 5_000 * n for n in range(101)]
    assert starts(found[:10]) == [NOW, NOW + SECOND // 4, NOW + SECOND // 2]
    assert behind(found) == {"key:a/k": 7, "client:a": 2}


def test_a_lone_execution_waits_until_just_before_its_narrow_gate_opens() -> None:
    wide, narrow = rated("client:a", 200), rated("key:a/k", 4)
    first, second, third = appoint([(NOW, [wide, narrow])] * 3, NOW)
    assert (first.start, first.behind) == (NOW, None)
    assert (second.start, second.behind, second.idle) == (NOW + SECOND // 4, narrow, wide)
    assert third == second
    assert wide.next_at == NOW + 5_000
    shortly_before = second.start - JUST_IN_TIME
    assert starts(appoint([(NOW, [wide, narrow])], shortly_before)) == [second.start]


def test_with_similar_rates_the_narrower_gate_sets_the_pace() -> None:
    wide, narrow = rated("client:a", 200), rated("key:a/k", 150)
    assert len(starts(appoint([(NOW, [wide, narrow])] * 100, NOW))) == 75


def test_a_full_gate_holds_an_execution_without_drawing_on_other_gates() -> None:
    wide, full = rated("client:a", 200), Gate(name="host:b", concurrency=1, running=1)
    [appointment] = appoint([(NOW, [wide, full])], NOW)
    assert (appointment.start, appointment.behind, wide.drawn) == (NEVER, full, 0)


def test_only_the_first_execution_probes_a_circuit() -> None:
    circuit = Gate(name="circuit:b a", shut_until=NOW - 1)
    first, second = appoint([(NOW, [circuit])] * 2, NOW)
    assert (first.probes, first.behind) == (("circuit:b a",), None)
    assert second.behind is circuit


def test_an_additional_wide_gate_does_not_delay_an_execution() -> None:
    client, key = rated("client:a", 100), rated("key:a/k", 1_000)
    found = appoint([(NOW, [client, key])] * 20 + [(NOW, [client])] * 100, NOW)
    assert [appointment.start for appointment in found[:20]] == [NOW + 10_000 * n for n in range(20)]


def test_executions_start_at_the_gates_rate_once_the_gate_opens() -> None:
    gate = rated("host:b", 10, shut_until=NOW + 300_000)
    assert starts(appoint([(NOW, [gate])] * 200, NOW)) == [NOW + 300_000 + 100_000 * n for n in range(3)]


_INSTANTS = st.one_of(st.none(), st.integers(NOW - 3_600 * SECOND, NOW + 86_400 * SECOND))
_GATES = st.builds(
    Gate,
    name=st.sampled_from(["client:a", "host:b", "queue:q", "key:a/k", "circuit:b a"]),
    interval=st.one_of(st.none(), st.floats(1, 1e12)),
    burst=st.integers(1, 100),
    concurrency=st.one_of(st.none(), st.integers(1, 10)),
    next_at=st.floats(0, NOW + 86_400.0 * SECOND),
    shut_until=_INSTANTS,
    recovers_from=_INSTANTS,
    running=st.integers(0, 20),
)


@given(st.lists(_GATES, min_size=1, max_size=4, unique_by=lambda gate: gate.name), st.integers(1, 40))
def test_gates_in_any_state_pass_only_what_their_limits_allow(gates: list[Gate], count: int) -> None:
    running = {gate.name: gate.running for gate in gates}
    assert all(0 <= gate.room(count, now=NOW, last=NOW + AHEAD) <= count for gate in gates)
    found = appoint([(NOW, gates)] * count, NOW)
    passed = starts(found)
    for gate in gates:
        assert not passed or gate.shut_until is None or gate.is_probing or passed[0] >= gate.shut_until
        assert not passed or gate.concurrency is None or gate.running <= gate.concurrency
        assert gate.running == running[gate.name] + len(passed)


@pytest.mark.parametrize("keys", [1, 40])
def test_executions_of_many_ordering_keys_use_their_clients_full_rate(keys: int) -> None:
    wide = rated("client:a", 500)
    narrow = [rated(f"key:a/{n}", 20) for n in range(keys)]
    found = appoint([(NOW, [wide, narrow[n % keys]]) for n in range(200)] + [(NOW, [wide])] * 400, NOW)
    passed = sorted(starts(found))
    assert passed == [NOW + 2_000 * n for n in range(bisect_left(passed, NOW + AHEAD + 1))]
    assert len(passed) == 251
