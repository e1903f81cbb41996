"""Refuses numbers that are short in JSON and long in the database: ``1e131000`` has eight characters, and 131 kB as
text.

PostgreSQL writes numbers of jsonb out in full. The database refuses numbers that are too long, but only after it has
written them out; this check comes before.
"""

import json
import re

from pgsched.errors import InvalidPayload

MOST_DIGITS = 10_000
_SUSPECT = re.compile(rf"[0-9][eE][+-]?[0-9]{{4}}|(?<![0-9.])[0-9.]{{{MOST_DIGITS + 1}}}")
_NUMBER = re.compile(r"-?([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


def check_payload(text: str | None) -> None:
    """Raises InvalidPayload for JSON text with a number of more than ten thousand digits, written out."""
    if text is None or not _SUSPECT.search(text):
        return
    try:
        json.loads(text, parse_float=_check_number, parse_int=_check_number)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidPayload):
            raise  # what is no JSON is for the database to refuse


def _check_number(text: str) -> None:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return
    whole, fraction, exponent = found[1], found[2] or "", found[3] or "0"
    if len(exponent) > 8 or len(whole) + len(fraction) + abs(int(exponent)) > MOST_DIGITS:
        raise InvalidPayload(
            f"the payload has a number of more than {MOST_DIGITS} digits, {text[:40]}: write it as text, or shorter"
        )
