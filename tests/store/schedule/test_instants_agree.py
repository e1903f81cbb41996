"""SQL, Python and headers accept the same forms of instants, dates and waits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsched.client.requests import Call
from pgsched.delivery.http import parse_retry_after
from pgsched.domain.excluded_times import parse_exclusion
from pgsched.domain.schedule import instant_of
from pgsched.errors import InvalidSchedule
from tests.store.store_arrange import Connection, column, value

QUIET = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
DATES = [
    "2026-03-01",
    "2026-02-29",
    "2028-02-29",
    "0001-01-01",
    "0000-01-01",
    "9999-12-31",
    "1970-12-31",
    "8990-01-01",
    "2026-3-1",
    "20260301",
    "2026-W09-7",
    "2026-060",
    "2026-13-01",
    "2026-04-31",
    "10000-01-01",
    "-2026-03-01",
    "٢026-03-01",
    "2026/03/01",
]
TIMES = [
    "09:00:00",
    "09:00",
    "09",
    "0900",
    "090000",
    "23:59:59",
    "24:00:00",
    "24:00",
    "00:00:00",
    "23:59:60",
    "23:60:00",
    "25:00:00",
    "9:00",
    "09:00:00.5",
    "09:00:00,5",
    "09:00:00.123456",
    "09:00:00.123456789",
    "09:00:00.",
    "09:00.5",
    "09:00:00.1234567890",
    "noon",
]
OFFSETS = [
    "Z",
    "z",
    "+00:00",
    "-00:00",
    "+01:00",
    "+0100",
    "+01",
    "+1",
    "+15:59",
    "+16:00",
    "-15:59",
    "-23:59",
    "+24:00",
    "+01:60",
    "+01:00:30",
    "",
    " Z",
    "UTC",
    "+\u06601:00",
    "\u221201:00",
    "Europe/Berlin",
    "[UTC]",
]
INSTANTS = st.builds(
    "{}{}{}{}{}{}".format,
    st.sampled_from(["", "", "", " ", "\t", "\n", "\u00a0", "\x0b"]),
    st.sampled_from(DATES[:1] * 10 + DATES),
    st.sampled_from(["T", "T", "T", "t", " ", "_", "  ", "x", ""]),
    st.sampled_from(TIMES[:1] * 10 + TIMES),
    st.sampled_from(OFFSETS[:1] * 10 + OFFSETS),
    st.sampled_from(["", "", "", " ", "\r\n", "\u2003"]),
)
WORDS = [
    "now",
    "today",
    "infinity",
    "-infinity",
    "epoch",
    "tomorrow",
    "allballs",
    "",
    " ",
    "2026-03-01",
    "1772355600",
    "2026-03-01T09:00:00Z BC",
    "Sun Mar  1 09:00:00 2026 UTC",
    "2026-03-01T09:00:00Z/2026-03-02T09:00:00Z",
]


def _read(text: str) -> datetime | None:
    try:
        return instant_of(text, "fire_at")
    except InvalidSchedule:
        return None


@QUIET
@given(text=INSTANTS | st.sampled_from(WORDS))
def test_sql_and_python_accept_the_same_instants(db: Connection, text: str) -> None:
    found = _read(text)
    assert value(db, "select pgsched_internal.is_instant(to_jsonb(%s::text))", [text]) is (found is not None)
    if found is not None and found.year < 9999:
        meant: Any = value(db, "select %s::timestamptz", [text.strip(" \t\r\n")])
        assert abs(meant.astimezone(UTC) - found) <= timedelta(microseconds=1)


def test_sql_and_python_accept_the_same_date_and_time_combinations(db: Connection) -> None:
    texts = [f"{date}T{time}{offset}" for date in DATES for time in TIMES for offset in OFFSETS]
    taken = column(db, "select t from unnest(%s::text[]) t where pgsched_internal.is_instant(to_jsonb(t))", [texts])
    assert taken == [text for text in texts if _read(text) is not None]


ENDS = st.sampled_from(DATES) | INSTANTS


@QUIET
@given(text=ENDS | st.builds("{}/{}".format, ENDS, ENDS) | st.builds("{} / {}".format, ENDS, ENDS))
def test_sql_and_python_accept_the_same_exclusions(db: Connection, text: str) -> None:
    try:
        parse_exclusion(text)
    except InvalidSchedule:
        with pytest.raises(psycopg.Error) as refused:
            db.execute("select pgsched_internal.check_exclusion(to_jsonb(%s::text))", [text])
        assert refused.value.sqlstate == "PS002"
    else:
        db.execute("select pgsched_internal.check_exclusion(to_jsonb(%s::text))", [text])


@pytest.mark.parametrize(
    "sent", ["+7", "-7", "٣", "7s", "0x7", "1_0", "7,7", "7.5", "1e1", "PT7S", "T24:00:00Z", "NaN", "inf"]
)
def test_a_retry_after_header_that_is_not_a_whole_number_is_ignored(sent: str) -> None:
    assert parse_retry_after(sent, 1_772_355_600) is None
    answer = httpx.Response(503, headers=[(b"retry-after", sent.encode())])
    assert Call("GET", "/", dict).pause(3, 0, answer) != 7.0
    assert Call("GET", "/", dict).pause(3, 0, answer) is not None
