"""Invalid numbers, durations and instants: every flag and every setting refuses them."""

from collections.abc import Iterator
from dataclasses import fields

import click
import pytest

from pgsched.cli.main import cli
from pgsched.cli.settings_sources import load
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings

_NONSENSE = (
    "nan",
    "NaN",
    "inf",
    "-inf",
    "infinity",
    "1e400",
    "-1e400",
    "",
    " ",
    "x",
    "0x10",
    "1,5",
    "1 month",
    "P1M",
    "-5s",
    "24:00",
)
_NUMERIC = [setting.name for setting in fields(Settings) if setting.metadata["within"] is not None]


def _flags(command: click.Command, *path: str) -> Iterator[tuple[str, click.Parameter]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):  # commands are imported only when requested
            yield from _flags(command.get_command(context, name) or command, *path, name)
    else:
        for one in command.params:
            yield f"{' '.join(path)} {one.name}", one


def _is_counted(flag: click.Parameter) -> bool:
    """Returns True if a flag takes a number, a duration or an instant."""
    numbers = (click.types.IntParamType, click.types.FloatParamType)
    named = getattr(flag.type, "func", None)
    return isinstance(flag.type, numbers) or getattr(named, "__name__", "") in ("instant", "duration")


def test_no_flag_accepts_an_invalid_number_or_time() -> None:
    wrong, seen = [], 0
    for where, flag in _flags(cli):
        if not _is_counted(flag) or flag.name in _NUMERIC:
            continue
        seen += 1
        for text in _NONSENSE:
            try:
                found = flag.type.convert(text, flag, None)
            except click.ClickException:
                continue
            wrong.append((where, text, found))
    assert wrong == []
    assert seen > 60


def test_every_count_is_bounded_by_the_flag_or_by_the_database() -> None:
    unbounded = {
        where
        for where, flag in _flags(cli)
        if isinstance(flag.type, click.types.IntParamType)
        and flag.name not in _NUMERIC
        and not (isinstance(flag.type, click.IntRange) and flag.type.min is not None and flag.type.max is not None)
    }
    assert {where for where in unbounded if where.split()[0] not in ("bench", "up", "worker", "api")} == {
        "limits set rate",
        "limits set burst",
        "clients set weight",
        "queues create weight",
        "queues create max_waiting",
        "queues set weight",
        "queues set max_waiting",
        "admin installation set history_days",
        "admin installation set audit_days",
    }


@pytest.mark.parametrize("name", _NUMERIC)
def test_no_setting_accepts_an_invalid_number(name: str) -> None:
    variable = f"PGSCHED_{name.upper()}"
    for text in (*_NONSENSE, "-1", "1e300", "9" * 30, "9" * 400, 10**400, float("nan"), float("inf"), True):
        with pytest.raises(InvalidSettings, match=name):
            pytest.fail(f"the flag accepts {text!r}: {load(flags={name: text}, environment={})}")
        if isinstance(text, str):
            with pytest.raises(InvalidSettings, match=name):
                pytest.fail(f"the variable accepts {text!r}: {load(flags={}, environment={variable: text})}")
