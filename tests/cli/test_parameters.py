"""Parsing of command parameters."""

import click
import pytest

from pgsched.cli.parameters import json_text


@pytest.mark.parametrize("text", ['{"n": NaN}', "Infinity", "-Infinity", '"\udcff"', "[1,]", ""])
def test_invalid_json_is_refused_before_it_is_sent(text: str) -> None:
    with pytest.raises(click.BadParameter, match="this is not JSON"):
        json_text(text)


@pytest.mark.parametrize("text", ['{"a": 18446744073709551616}', "0." + "1" * 5000, '"käse"'])
def test_valid_json_is_passed_on_unchanged(text: str) -> None:
    assert bytes(json_text(text)) == text.encode()
