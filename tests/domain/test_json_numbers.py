"""Numbers that would be long when written out are refused before anything writes them out."""

import time

import pytest

from pgsched.domain.json_numbers import check_payload, decode_json
from pgsched.errors import InvalidPayload

TOO_MANY = ("1e131000", '{"a": [1, {"b": -2E+50000}]}', "1e-16000", "0." + "1" * 10_000, "1" * 300 + "." + "0" * 9701)


@pytest.mark.parametrize("text", [*TOO_MANY, "1e9999999999"])
def test_a_number_of_more_than_ten_thousand_digits_is_refused(text: str) -> None:
    with pytest.raises(InvalidPayload, match="more than 10000 digits"):
        check_payload(text)


TOO_LARGE = (
    "1e309",
    "1e400",
    "-1e400",
    "9" * 309,
    "1.7976931348623158e308",
    "0.1e310",
    "12e308",
    "1" + "0" * 400 + ".5",
)


@pytest.mark.parametrize("text", TOO_LARGE)
def test_a_number_that_no_double_holds_is_refused(text: str) -> None:
    with pytest.raises(InvalidPayload, match=r"over 1\.797e308"):
        check_payload(f'{{"n": [{text}]}}')


@pytest.mark.parametrize(
    "text", ["18446744073709551616", "-9223372036854775809", "123456789012345678901234567890", "9" * 308]
)
def test_whole_numbers_are_read_exactly(text: str) -> None:
    found = decode_json(f'{{"n": {text}}}'.encode())["n"]
    assert (type(found), str(found)) == (int, text)


TAKEN = (
    "1e308",
    "5e-324",
    "-1.7976931348623157e308",
    "9" * 308,
    "0." + "1" * 9_999,
    "0e400",
    "0.001e310",
    '"1e131000"',
)
IN_TEXT = ('{"1e99999": "' + "7" * 50_000 + '"}', '"\\"1e99999"')


@pytest.mark.parametrize("text", [None, "nonsense 1e10000", *TAKEN, *IN_TEXT])
def test_what_is_no_such_number_is_left_to_the_database(text: str | None) -> None:
    check_payload(text)


@pytest.mark.parametrize("piece", ["1" * 308 + ",", "1e", "1e99,", "[" * 100, '"1e9999",', "0.0."])
def test_a_mebibyte_is_looked_through_in_no_time(piece: str) -> None:
    text = "[" + piece * (2**20 // len(piece)) + "1]"
    started = time.process_time()
    check_payload(text)
    assert time.process_time() - started < 2
