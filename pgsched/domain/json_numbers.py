"""Refuses numbers that no double holds, and those that are short in JSON and long in the database: ``1e131000`` has
eight characters, and 131 kB as text.

PostgreSQL writes numbers of jsonb out in full. The database refuses the same numbers, but only after it has written
them out; this check comes before.
"""

import json
import re
from typing import Any

import msgspec

from pgsched.errors import InvalidPayload

MOST_DIGITS = 10_000
LARGEST = 1_048_576
"""Bytes of a payload as PostgreSQL writes it."""
_TOO_LARGE = "17976931348623158" + "0" * 292
"""The first number that is refused: a double would be infinite soon after it."""

_SUSPECT = re.compile(rf"[0-9][eE][+-]?0*[0-9]{{3}}|(?<![0-9.])[0-9.]{{{len(_TOO_LARGE)}}}")
_NUMBER = re.compile(r"-?([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


def decode_json(text: bytes) -> Any:
    """The value, its whole numbers exact. The text is what PostgreSQL wrote of a jsonb."""
    return msgspec.json.decode(text)


def check_payload(text: str | None) -> None:
    """Raises InvalidPayload for JSON text with a number over 1.797e308, or of more than ten thousand digits, written
    out, and where all of them together are over a payload's limit."""
    if text is None or not _SUSPECT.search(text):
        return
    left = LARGEST

    def count(number: str) -> None:
        nonlocal left
        left -= _digits_of(number)
        if left < 0:
            raise InvalidPayload("the payload is over the limit of 1 MiB: its numbers are, written out")

    try:
        json.loads(text, parse_float=count, parse_int=count)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidPayload):
            raise  # what is no JSON is for the database to refuse


def _digits_of(text: str) -> int:
    """How many the number has as PostgreSQL writes it."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return 0
    whole, fraction, exponent = found[1], found[2] or "", found[3] or "0"
    written = _written(whole, fraction, int(exponent)) if len(exponent.lstrip("+-0")) <= 8 else None
    if written is None or written > MOST_DIGITS:
        raise InvalidPayload(
            f"the payload has a number over 1.797e308 or of more than {MOST_DIGITS} digits, {text[:40]}: "
            "write it as text, or shorter"
        )
    return written


def _written(whole: str, fraction: str, exponent: int) -> int | None:
    """None where it is too large for a double."""
    digits = (whole + fraction).lstrip("0")
    before_point = len(digits) - len(fraction) + exponent if digits else 0
    same_length = before_point == len(_TOO_LARGE)
    if before_point > len(_TOO_LARGE) or (same_length and digits.ljust(before_point, "0") >= _TOO_LARGE):
        return None
    return max(before_point, 1) + max(len(fraction) - exponent, 0)
