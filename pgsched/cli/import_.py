"""``pgsched import``: declarations for ``pgsched apply`` from what another scheduler has. It writes no file."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import click

from pgsched.cli.cloud_scheduler import declared_from, jobs_in
from pgsched.cli.crontab import Line, Unread, address_of, is_call, lines_of, name_of
from pgsched.cli.reply import Reply, json_option
from pgsched.domain.declaration import declared_in
from pgsched.errors import InvalidInput, PgschedError
from pgsched.store.core.text import check_text

Found = tuple[str, Callable[[], Mapping[str, Any]]]
"""Where a job stands, for people, and what declares it; that raises a PgschedError for what cannot be declared."""


@click.group("import")
def import_() -> None:
    """Turn the jobs of another scheduler into declarations, for `pgsched apply`."""


_FILE = click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
_CLIENT = click.option("--client", metavar="NAME", help="Client that the jobs belong to.  [default: default]")


@import_.command()
@_FILE
@click.option(
    "--timezone", metavar="ZONE", help="Time zone if the file has none: that of the machine whose cron ran it."
)
@click.option("--target", metavar="TARGET", help="Target to call for a command; {key} stands for its name.")
@click.option("--system", is_flag=True, help="Format of /etc/crontab, with a user before each command.")
@_CLIENT
@json_option
@click.pass_obj
def crontab(
    reply: Reply, /, file: str, timezone: str | None, target: str | None, system: bool, client: str | None
) -> None:
    """Print declarations for the entries of a crontab: FILE, or - for standard input.

    A command that only calls a URL with curl or wget becomes a call of that URL. Other commands need --target.
    """
    names = Names()
    lines = lines_of(_read(file), with_user=system)
    given = partial(_declared, timezone=timezone, target=target, names=names)
    _give(reply, [(f"line {line.number}", partial(given, line)) for line in lines], client)


def _declared(line: Line | Unread, *, timezone: str | None, target: str | None, names: "Names") -> Mapping[str, Any]:
    if isinstance(line, Unread):
        raise InvalidInput("this is no entry; where a user stands before each command, say --system")
    zone = line.timezone or timezone
    if zone is None:
        raise InvalidInput("cron runs it by the clock of its machine: name that clock by --timezone")
    address = address_of(line.command)
    if address is None and is_call(line.command):
        raise InvalidInput(
            "it does more than get one address: declare that call by hand, with its method, headers and payload"
        )
    if address is None and target is None:
        raise InvalidInput("pgsched runs no commands: give --target, such as https://shop.example/{key}")
    key = names.free(name_of(line.command))
    scheduled = {"cron": line.cron, "timezone": zone}
    if address:
        return {"key": key, "target": address, **scheduled, "options": {"method": "GET"}}
    return {"key": key, "target": str(target).replace("{key}", key), **scheduled}


class Names:
    """Keys that are given away once each: the second `report` is `report-2`."""

    def __init__(self) -> None:
        self._taken = set[str]()

    def free(self, name: str) -> str:
        found = next(
            one for one in (name, *(f"{name}-{n}" for n in range(2, len(self._taken) + 3))) if one not in self._taken
        )
        self._taken.add(found)
        return found


@import_.command("cloud-scheduler")
@_FILE
@_CLIENT
@json_option
@click.pass_obj
def cloud_scheduler(reply: Reply, /, file: str, client: str | None) -> None:
    """Print declarations for jobs of Google Cloud Scheduler, given as JSON in FILE, or - for standard input.

    This is the output of `gcloud scheduler jobs list --format json`. Paused jobs are left out.
    """
    _give(reply, [(job.name, partial(declared_from, job)) for job in jobs_in(_read(file))], client)


def _read(file: str) -> str:
    try:
        with click.open_file(file, encoding="utf-8") as opened:
            return str(opened.read())
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not text in UTF-8") from None


def _give(reply: Reply, found: Iterable[Found], client: str | None) -> None:
    """Answers with what can be declared; what cannot is named beside it, with the reason."""
    jobs, left, text = list[Mapping[str, Any]](), list[dict[str, str]](), list[str]()
    for where, declare in found:
        try:
            job = {**declare(), **({"client": client} if client else {})}
            declared_in([job], where)
            text.append(_toml(job))
            jobs.append(job)
        except PgschedError as error:
            left.append({"where": where, "why": str(error).removeprefix(f"{where}: ")})
    reply.give({"jobs": jobs, "left": left}, "\n".join(text) or "jobs = []")
    for one in left:
        reply.note(f"left out: {one['where']}: {one['why']}")


def _toml(job: Mapping[str, Any]) -> str:
    lines = ["[[jobs]]", *(f"{name} = {_value(value)}" for name, value in job.items() if name != "options")]
    lines += [f"\n[jobs.options]\n{_pairs(job['options'])}"] if "options" in job else []
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{name} = {_value(value)}" for name, value in table.items())


def _value(value: Any) -> str:
    """A value of TOML, whose strings are those of JSON."""
    if value is None:
        raise InvalidInput("its payload has a null, which TOML has not: declare it in code")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput("its payload has a number that JSON has not: declare it by hand")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_value(name)} = {_value(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        check_text("a text of it", value)
    return "".join(map(_printed, json.dumps(value, ensure_ascii=False)))


def _printed(character: str) -> str:
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
