"""Gates pass no more than they allow in any period, and no less than they have room for."""

from bisect import bisect_left

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgsched.domain.gate import NEVER, Gate, circuit_name, circuits_of, host_of, is_part_of, key_name, path_of

NOW = 850_000_000_000_000  # microseconds since 2000, which a double holds to an eighth
SECOND = 1_000_000
_EVENTS = st.integers(1, 1_000)
_PERIODS = st.integers(1_000, 3_600 * SECOND)
_WAITS = st.lists(st.integers(0, 2 * SECOND), min_size=1, max_size=200)


def rated(events: int, period: int, **given: int) -> Gate:
    return Gate(name="client:shop", interval=period / events, **given)


def starts_of(gate: Gate, waits: list[int]) -> list[int]:
    """Returns the start times of successive executions; each comes ``wait`` microseconds after the previous start."""
    found, now = [], NOW
    for wait in waits:
        start = gate.earliest(now + wait)
        gate.draw(start)
        found.append(start)
        now = start
    return found


def most_within(starts: list[int], length: int) -> int:
    """Returns the largest number of starts in any half-open period of ``length`` microseconds."""
    return max(bisect_left(starts, start + length) - place for place, start in enumerate(starts))


@given(_EVENTS, _PERIODS, _WAITS)
def test_starts_in_any_period_stay_within_the_rate(events: int, period: int, waits: list[int]) -> None:
    starts = starts_of(rated(events, period), waits)
    slack = 1 + len(waits) // 8  # rounding error of doubles
    assert most_within(starts, period - slack) <= events


@given(_EVENTS, _PERIODS, st.integers(1, 50), _WAITS)
def test_starts_exceed_the_rate_by_at_most_the_burst(events: int, period: int, burst: int, waits: list[int]) -> None:
    starts = starts_of(rated(events, period, burst=burst), waits)
    slack = 1 + len(waits) // 8
    assert most_within(starts, period - slack) <= events + burst - 1


@given(st.integers(1, 50))
def test_a_burst_starts_immediately_and_later_starts_keep_the_interval(burst: int) -> None:
    starts = starts_of(rated(10, SECOND, burst=burst), [0] * (burst + 1))
    assert starts == [NOW] * burst + [NOW + SECOND // 10]


@pytest.mark.parametrize("events", [3, 7, 300, 700_000])
def test_draws_rounded_to_microseconds_never_exceed_the_rate(events: int) -> None:
    """Each draw is its own transaction, which reads the instant as the database stores it."""
    starts, next_at, now = [], 0.0, NOW
    for _ in range(3 * min(events, 2_000)):
        gate = rated(events, SECOND, burst=1)
        gate.next_at = next_at
        now = gate.earliest(now)
        gate.draw(now)
        starts.append(now)
        next_at = -(-gate.next_at // 1)
    assert most_within(starts, SECOND) <= events


@given(_EVENTS, _PERIODS, st.integers(1, 20), st.integers(-SECOND, SECOND), st.integers(0, 50), st.integers(0, SECOND))
def test_the_room_method_differs_from_the_possible_draws_by_at_most_one(
    events: int, period: int, burst: int, next_at: int, wanted: int, length: int
) -> None:
    def gate() -> Gate:
        return rated(events, period, burst=burst, next_at=NOW + next_at)

    assume(period >= 100 * events)  # starts are whole microseconds; with shorter intervals, rounding loses too many
    last, drawing, drawn = NOW + length, gate(), 0
    while drawn < wanted and (start := drawing.earliest(NOW)) <= last:
        drawing.draw(start)
        drawn += 1
    assert abs(gate().room(wanted, now=NOW, last=last) - drawn) <= (1 if drawn else 0)


def test_unused_capacity_does_not_accumulate() -> None:
    gate = rated(10, SECOND)
    gate.draw(gate.earliest(NOW))
    starts = starts_of(gate, [3_600 * SECOND, *[0] * 9])
    assert most_within(starts, SECOND) == 10


def test_a_gates_concurrency_bounds_its_number_of_running_executions() -> None:
    gate = Gate(name="host:shop.example", concurrency=3, running=1)
    assert gate.room(10, now=NOW, last=NOW) == 2
    for _ in range(2):
        gate.draw(gate.earliest(NOW))
    assert (gate.earliest(NOW), gate.room(10, now=NOW, last=NOW)) == (NEVER, 0)


def test_a_gate_above_its_lowered_concurrency_passes_nothing() -> None:
    gate = Gate(name="host:shop.example", concurrency=3, running=5)
    assert (gate.earliest(NOW), gate.room(10, now=NOW, last=NOW + SECOND)) == (NEVER, 0)


def test_nothing_passes_a_closed_gate() -> None:
    gate = Gate(name="client:shop", shut_until=NOW + SECOND)
    assert (gate.earliest(NOW), gate.room(10, now=NOW, last=NOW + SECOND - 1)) == (NOW + SECOND, 0)
    assert (gate.earliest(NOW + SECOND), gate.room(10, now=NOW + SECOND, last=NOW + SECOND)) == (NOW + SECOND, 10)


def test_a_circuit_passes_one_probe_once_its_pause_is_over() -> None:
    gate = Gate(name=circuit_name("shop.example", "payments"), shut_until=NOW)
    assert gate.is_probing
    assert gate.room(10, now=NOW, last=NOW) == 1
    gate.draw(NOW)
    assert gate.room(10, now=NOW, last=NOW) == 0
    assert NOW < gate.earliest(NOW) <= NOW + 10 * SECOND  # sends another probe if the first probe has no result yet


def test_a_limit_sends_no_probe_when_its_hold_ends() -> None:
    assert not Gate(name="host:shop.example", shut_until=NOW).is_probing


@pytest.mark.parametrize("rate", [10, 100])
def test_a_recovering_circuit_doubles_its_rate_each_second(rate: int) -> None:
    gate = Gate(
        name=circuit_name("shop.example", "payments"), interval=SECOND / rate, next_at=float(NOW), recovers_from=NOW
    )
    starts = starts_of(gate, [0] * (rate * 62))
    for second in range(5):
        began = NOW + second * SECOND
        passed = bisect_left(starts, began + SECOND) - bisect_left(starts, began)
        assert rate * 2**second * 0.9 <= passed <= rate * 2 ** (second + 1)


def test_a_recovering_limit_starts_slowly_and_stays_within_its_rate() -> None:
    gate = rated(50, SECOND, recovers_from=NOW)
    gate.next_at = float(NOW)
    starts = starts_of(gate, [0] * 400)
    assert most_within(starts, SECOND) <= 51
    assert bisect_left(starts, NOW + SECOND) <= 20


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("https://Shop.Example/settle", "shop.example"),
        ("http://shop.example:8080", "shop.example:8080"),
        ("https://shop.example?x=/a", "shop.example"),
        ("https://[::1]:8443/x", "[::1]:8443"),
        ("python:settle", None),
        ("sql:shop.settle", None),
        ("nothing at all", None),
    ],
)
def test_only_http_targets_have_a_host(target: str, host: str | None) -> None:
    assert host_of(target) == host


def test_equal_ordering_keys_of_different_clients_have_different_gates() -> None:
    assert key_name("payments", "m-1") != key_name("billing", "m-1")


def test_key_gate_names_of_different_clients_never_collide() -> None:
    pairs = [("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("a%", "2Fb/c"), ("a%25", "b"), ("a", "%2Fb/c")]
    assert len({key_name(client, key) for client, key in pairs}) == len(pairs)


def test_a_gate_belongs_only_to_its_own_client() -> None:
    assert is_part_of(key_name("a/b", "c"), "client:a/b")
    assert not is_part_of(key_name("a/b", "c"), "client:a")
    assert is_part_of(circuit_name("shop.example", "x y"), "client:x y")
    assert not is_part_of(circuit_name("shop.example", "x y"), "client:y")


def test_a_path_circuit_is_part_of_its_hosts_circuit() -> None:
    of_a_path, of_its_host = circuits_of("https://Shop.example/a/b?c=d e", "shop.example", "x y")
    assert (of_a_path, of_its_host) == ("circuit:shop.example/a/b x y", "circuit:shop.example x y")
    assert is_part_of(of_a_path, of_its_host)
    assert not is_part_of(of_its_host, of_a_path)
    assert is_part_of(of_a_path, "host:shop.example")
    assert is_part_of(of_a_path, "client:x y")
    assert not is_part_of(of_a_path, circuit_name("shop.example", "x"))
    assert not is_part_of(of_a_path, "host:shop")


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("https://shop.example", "/"),
        ("https://shop.example?a=/b", "/"),
        ("https://shop.example/a//b?c", "/a//b"),
        ("https://shop.example/" + "x" * 199, "/" + "x" * 199),
    ],
)
def test_a_targets_path_excludes_its_query(target: str, path: str) -> None:
    assert path_of(target) == path


def test_long_paths_are_shortened_but_stay_distinct() -> None:
    paths = [path_of("https://shop.example/" + "x" * 1900 + end) for end in "ab"]
    assert [len(path) for path in paths] == [200, 200]
    assert paths[0] != paths[1]
