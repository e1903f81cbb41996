"""H in cron expressions: its values are valid, stable and spread out."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.cron import Cron
from pgsched.domain.schedule import from_parts
from pgsched.domain.start_jitter import identity_of, resolve_hashes
from pgsched.errors import InvalidSchedule

FORMS = [
    "H * * * *",
    "H H * * *",
    "H(0-29) H H * *",
    "H/15 * * * *",
    "H(10-50)/5 H/6 * H H",
    "H H * * * H",
    "h 3 * * *",
]


@pytest.mark.parametrize(
    "expression", ["0 9 * * THU", "@hourly", "30 2 * MAR SUN", "", "H * *", "H * * * * * *", "0 9 * * WED,THU"]
)
def test_an_expression_without_h_is_unchanged(expression: str) -> None:
    assert resolve_hashes(expression, "default/nightly") == expression


@given(st.sampled_from(FORMS), st.text(max_size=50))
def test_any_identity_resolves_to_a_valid_and_stable_schedule(expression: str, identity: str) -> None:
    found = resolve_hashes(expression, identity)
    assert "H" not in found
    assert Cron(expression=found)
    assert resolve_hashes(expression, identity) == found
    assert resolve_hashes(found, identity) == found


def test_jobs_are_spread_over_all_minutes_and_hours() -> None:
    jobs = [resolve_hashes("H H * * *", f"payments/job-{n}").split() for n in range(6000)]
    minutes, hours = Counter(job[0] for job in jobs), Counter(job[1] for job in jobs)
    assert len(minutes) == 60
    assert len(hours) == 24
    assert max(minutes.values()) < 2 * 6000 / 60
    assert len({(job[0], job[1]) for job in jobs}) > 1200  # of 1440, since minute and hour are drawn independently


@given(st.text(max_size=50))
def test_hashed_values_are_within_their_ranges(identity: str) -> None:
    low, hour, day, _, _ = resolve_hashes("H(20-30) H H * *", identity).split()
    assert 20 <= int(low) <= 30
    assert 0 <= int(hour) <= 23
    assert 1 <= int(day) <= 28


@given(st.text(max_size=50))
def test_a_hashed_step_starts_within_its_first_interval(identity: str) -> None:
    start, rest = resolve_hashes("H/15 * * * *", identity).split()[0].split("-")
    assert 0 <= int(start) < 15
    assert rest == "59/15"


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("H(0-60) * * * *", "within 0-59"),
        ("H(30-10) * * * *", "the lower end first"),
        ("* * H(0-5) * *", "within 1-31"),
        ("H/0 * * * *", "a step from 1 to 59"),
        ("H/60 * * * *", "a step from 1 to 59"),
        ("H(0-9)/10 * * * *", "a step from 1 to 9"),
        ("HH * * * *", "is not valid"),
        ("H-5 * * * *", "is not valid"),
        ("H() * * * *", "is not valid"),
        (f"H({'1' * 5000}-5) * * * *", "is not valid"),
        (f"H/{'1' * 5000} * * * *", "is not valid"),
        ("0 0 30 H *", "write L"),
        (f"0 0 {'1' * 5000} H *", "write L"),
    ],
)
def test_an_invalid_h_expression_is_refused(expression: str, says: str) -> None:
    with pytest.raises(InvalidSchedule, match=says):
        resolve_hashes(expression, "default/nightly")


def test_h_without_an_identity_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="give the job's identity"):
        from_parts(cron="H * * * *")


def test_a_hashed_schedule_depends_on_the_jobs_identity() -> None:
    mine, yours = (from_parts(cron="H H * * *", identity=identity) for identity in ("default/mine", "default/yours"))
    assert mine != yours
    assert mine == from_parts(cron=resolve_hashes("H H * * *", "default/mine"))


def test_a_job_is_identified_by_its_key_or_its_id() -> None:
    assert identity_of("payments", "nightly", 7) == "payments/nightly"
    assert identity_of("payments", None, 7) == "payments/7"


@given(st.integers(1, 59), st.text(max_size=50))
def test_any_valid_step_resolves_to_a_valid_schedule(step: int, identity: str) -> None:
    assert Cron(expression=resolve_hashes(f"H/{step} * * * *", identity))
    assert Cron(expression=resolve_hashes(f"0 H(0-9)/{min(step, 9)} * * *", identity))
    assert Cron(expression=resolve_hashes(f"0 0 * H/{min(step, 11)} H/{min(step, 6)}", identity))
