"""Notifications: arbitrary text may arrive, and only known forms mean anything."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.wake_notice import EARLIEST, LATEST, Notice, parse_notice

SECOND = 1_000_000
ID = UUID("0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b47")


def test_a_row_notice_yields_partitions_and_instants() -> None:
    assert parse_notice(f"3@{SECOND},17@{-SECOND}") == Notice(rows=((3, SECOND), (17, -SECOND)))


def test_a_stop_notice_yields_the_ids_of_ended_runs() -> None:
    assert parse_notice(f"stop {ID},nothing,{ID}") == Notice(ended=(ID.bytes, ID.bytes))


def test_out_of_range_instants_are_clamped() -> None:
    assert parse_notice("3@-999999999999999999,4@999999999999999999").rows == ((3, EARLIEST), (4, LATEST))


NONSENSE = "3@-99999999999999999999999 1@--5 ²@² 1@² ٣@٣ 99999@1 -3@1 3@+1 3@1_0 3@ @3 @ stop plan 3@1;4@1 3@1.5 3@1e5"


@pytest.mark.parametrize(
    "payload",
    [*NONSENSE.split(), "3@" + "9" * 5000, "9" * 5000 + "@1", " 3@1", "3@1\n", "3 @1", "", "stop ", "stop " + "f" * 32],
)
def test_an_invalid_notice_yields_nothing(payload: str) -> None:
    assert parse_notice(payload) == Notice()


@given(st.one_of(st.text(), st.from_regex(r"(stop )?([0-9²٣-]{0,30}@[0-9²٣-]{0,40},?){0,20}", fullmatch=True)))
def test_any_payload_yields_only_values_within_bounds(payload: str) -> None:
    notice = parse_notice(payload)
    assert all(0 <= partition < 32_768 and EARLIEST <= instant <= LATEST for partition, instant in notice.rows)
    assert all(len(id) == 16 for id in notice.ended)
