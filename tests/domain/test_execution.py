from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.execution import ClaimedExecution, instant_text, uuid_text

ROW = (
    3,
    bytes(range(16)),
    7,
    1,
    0,
    1_500_000,
    "shop",
    "queue:",
    b'{"n": 1}',
    None,
    None,
    None,
    None,
    None,
    None,
    None,
    None,
)


def test_an_execution_is_built_from_a_raw_row() -> None:
    execution = ClaimedExecution._make(ROW)
    assert execution.uuid == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert execution.nominal == datetime(2000, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert execution.decode_payload() == {"n": 1}


def test_integers_beyond_64_bits_are_decoded_exactly() -> None:
    assert ClaimedExecution._make(ROW)._replace(payload=b"[18446744073709551617]").decode_payload() == [2**64 + 1]


def test_a_missing_payload_decodes_to_none() -> None:
    assert ClaimedExecution._make(ROW)._replace(payload=None).decode_payload() is None


def test_an_id_is_formatted_as_in_postgresql() -> None:
    assert uuid_text(b"\xff" * 16) == "ffffffff-ffff-ffff-ffff-ffffffffffff"


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (0, "2000-01-01T00:00:00Z"),
        (843_315_200_000_000, "2026-09-21T14:13:20Z"),
        (843_315_200_000_001, "2026-09-21T14:13:20.000001Z"),
        (-1, "1999-12-31T23:59:59.999999Z"),
    ],
)
def test_an_instant_is_formatted_as_rfc_3339(instant: int, text: str) -> None:
    assert instant_text(instant) == text


@given(st.datetimes(datetime(1900, 1, 1), datetime(3000, 1, 1)))
def test_a_formatted_instant_parses_to_the_same_moment(moment: datetime) -> None:
    aware = moment.replace(tzinfo=UTC)
    instant = (aware - datetime(2000, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert datetime.fromisoformat(instant_text(instant)) == aware
