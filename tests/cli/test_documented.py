"""Commands, flags and settings exist if and only if they are documented."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import click

from pgsched.cli.main import cli
from pgsched.cli.settings_flags import EVERYTHING
from pgsched.settings import Settings

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _sections() -> dict[str, str]:
    text = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (pgsched .+)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _listed_flags(section: str) -> set[str]:
    """Returns the flags that a section lists: in the first column of its table, or after `Flags:`."""
    cells = re.findall(r"^\| (`-.*?) \|", section, re.MULTILINE)
    lists = re.findall(r"^Flags: (.*?)(?:\n\n|\Z)", section, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`(--[a-z-]+)", " ".join(cells + lists)))


COMMANDS = dict(_commands(cli, "pgsched"))


def test_every_command_has_a_section_in_the_reference() -> None:
    assert set(_sections()) == set(COMMANDS)


def _shown(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option) and not option.hidden]


def test_each_command_has_exactly_the_documented_flags() -> None:
    documented = {name: _listed_flags(section) for name, section in _sections().items()}
    assert documented == {
        name: {flag for option in _shown(command) for flag in (*option.opts, *option.secondary_opts)}
        for name, command in COMMANDS.items()
    }


def test_every_command_has_the_json_flag_and_help_for_each_flag() -> None:
    for name, command in COMMANDS.items():
        assert any("--json" in option.opts for option in command.params), name
        assert command.help, name
        assert [option.name for option in _shown(command) if not option.help] == [], name


def test_every_setting_except_secret_keys_has_a_flag() -> None:
    assert set(EVERYTHING) == {field.name for field in dataclasses.fields(Settings)} - {"secret_keys"}


def test_settings_and_defaults_match_the_reference_page() -> None:
    text = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| (.*?) ?\|", text, re.MULTILINE))
    defaults = {field.name: field.default for field in dataclasses.fields(Settings)}
    assert {name: cell.strip("`") for name, cell in rows.items()} == {
        name: _written(value) for name, value in defaults.items()
    }


def _written(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case _:
            return str(value)
