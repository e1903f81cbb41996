"""Numbers that would be long when written out are refused before anything writes them out."""

import time

import pytest

from pgsched.domain.digits import check_payload
from pgsched.errors import InvalidPayload


@pytest.mark.parametrize(
    "text",
    ["1e131000", '{"a": [1, {"b": -2E+50000}]}', "1e-16000", "9" * 10_001, "0." + "1" * 10_000, "1e9999999999"],
)
def test_a_number_of_more_than_ten_thousand_digits_is_refused(text: str) -> None:
    with pytest.raises(InvalidPayload, match="more than 10000 digits"):
        check_payload(text)


LEFT = (None, "1e308", "5e-324", "-1.7976931348623157e308", "9" * 10_000, '"1e131000"', "nonsense 1e10000")
IN_TEXT = ('{"1e99999": "' + "7" * 50_000 + '"}', '"\\"1e99999"')


@pytest.mark.parametrize("text", LEFT + IN_TEXT)
def test_what_is_no_such_number_is_left_to_the_database(text: str | None) -> None:
    check_payload(text)


@pytest.mark.parametrize("piece", ["1" * 10_000 + ",", "1e", "1e99,", "[" * 100, '"1e9999",', "0.0."])
def test_a_mebibyte_is_looked_through_in_no_time(piece: str) -> None:
    text = "[" + piece * (2**20 // len(piece)) + "1]"
    started = time.process_time()
    check_payload(text)
    assert time.process_time() - started < 2
