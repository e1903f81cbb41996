"""``pgsched jobs import``: prints another scheduler's jobs as declarations for ``pgsched apply``."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

import click

from pgsched.cli.cloud_scheduler import declared_from, jobs_in
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.crontab import CrontabEntry, LeftOut, lines_of
from pgsched.cli.crontab_shell_words import address_of, calls, name_of, words_of
from pgsched.cli.reply import Reply, json_option
from pgsched.domain.body import check_body
from pgsched.domain.declared_job import declared_in
from pgsched.domain.execution_options import METHODS
from pgsched.domain.headers import check_header
from pgsched.errors import InvalidInput, InvalidOptions, PgschedError
from pgsched.store.core.text import check_text

Found = tuple[str, Callable[[], Mapping[str, Any]]]
"""Where a job was found, for messages, and a function that returns the job's declaration or raises a PgschedError."""


@click.group("import", cls=CommandGroup)
def import_() -> None:
    """Convert the jobs of another scheduler to declarations for `pgsched apply`."""


_FILE = click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
_CLIENT = click.option("--client", metavar="NAME", help="Client that the jobs belong to.  [default: default]")


@import_.command()
@_FILE
@click.option(
    "--timezone", metavar="ZONE", help="Time zone of the machine that ran the crontab, if the file sets none."
)
@click.option(
    "--target",
    metavar="TARGET",
    help="Target to call for each command; {name} becomes the program's name, and {key} the job's key.",
)
@click.option(
    "--system", is_flag=True, help="The file is in /etc/crontab format, with a user field before each command."
)
@_CLIENT
@json_option
@click.pass_obj
def crontab(
    reply: Reply, /, file: str, timezone: str | None, target: str | None, system: bool, client: str | None
) -> None:
    """Print declarations for the entries of a crontab: FILE, or - for standard input.

    A command that only gets a URL with curl or wget becomes a call of that URL. Other commands need --target.
    """
    lines = lines_of(_read(file), with_user=system)
    given = partial(_declared, timezone=timezone, target=target)
    _give(reply, [(f"line {line.number}", partial(given, line)) for line in lines], client)


def _declared(line: CrontabEntry | LeftOut, *, timezone: str | None, target: str | None) -> Mapping[str, Any]:
    if isinstance(line, LeftOut):
        raise InvalidInput(line.why)
    zone, words = line.timezone or timezone, words_of(line.command)
    if zone is None:
        raise InvalidInput("cron runs it in the time zone of its machine: give that zone with --timezone")
    if not words:
        raise InvalidInput("it is not a single plain command: declare the call by hand, with any conditions")
    address = address_of(words)
    if address is None and calls(words):
        raise InvalidInput(
            "it does more than fetch one URL, or it saves the response: "
            "declare the call by hand, with its method, headers and payload"
        )
    if address is None and target is None:
        raise InvalidInput("pgsched runs no commands: give --target, such as https://shop.example/{name}")
    name = name_of(words, address)
    key = f"{name}-{_digest(line)}"
    scheduled = {"cron": line.cron, "timezone": zone}
    if address:
        return {"key": key, "target": address, **scheduled, "options": {"method": "GET"}}
    called = str(target).replace("{key}", key).replace("{name}", name)
    user = {"user": line.user} if line.user else {}
    return {"key": key, "target": called, **scheduled, "payload": {"command": words, **user}}


def _digest(line: CrontabEntry) -> str:
    """Returns a suffix that distinguishes entries with the same name, and does not depend on other lines."""
    parts = (line.timezone or "", line.cron, line.user or "", line.command)
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]


@import_.command("cloud-scheduler")
@_FILE
@_CLIENT
@json_option
@click.pass_obj
def cloud_scheduler(reply: Reply, /, file: str, client: str | None) -> None:
    """Print declarations for jobs of Google Cloud Scheduler: JSON from FILE, or - for standard input.

    The JSON is the output of `gcloud scheduler jobs list --format json`. Paused jobs are left out.
    """
    _give(reply, [(job.name, partial(declared_from, job)) for job in jobs_in(_read(file))], client)


def _read(file: str) -> str:
    try:
        with click.open_file(file, encoding="utf-8-sig") as opened:
            return str(opened.read())
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8 text") from None


def _give(reply: Reply, found: Iterable[Found], client: str | None) -> None:
    """Prints the declarations, and a note with the reason for each job that cannot be declared."""
    jobs, left, text = dict[str, Mapping[str, Any]](), list[dict[str, str]](), list[str]()
    for where, declare in found:
        try:
            job = {**declare(), **({"client": client} if client else {})}
            declared_in([job], where)
            _check_sent(job)
            shown = _toml(job)
            if jobs.setdefault(job["key"], job) is not job:
                raise InvalidInput(f"a job above already has the key {job['key']!r}: only the first is declared")
            text.append(shown)
        except PgschedError as error:
            left.append({"where": where, "why": str(error).removeprefix(f"{where}: ")})
    reply.give({"jobs": list(jobs.values()), "left": left}, "\n".join(text) or "jobs = []")
    for one in left:
        reply.note(f"left out {one['where']}: {one['why']}")


def _check_sent(job: Mapping[str, Any]) -> None:
    """Raises InvalidOptions or InvalidPayload for a method, header or body that the database would refuse. These checks
    are repeated here because the command does not use the database."""
    options = job.get("options", {})
    if options.get("method", "POST") not in METHODS:
        raise InvalidOptions(f"its method is {options['method']}: pgsched supports {', '.join(METHODS)}")
    for name, text in options.get("headers", {}).items():
        check_header("headers", name, text)
    check_body(json.dumps(job["payload"]).encode() if "payload" in job else None, json.dumps(options).encode())


def _toml(job: Mapping[str, Any]) -> str:
    lines = ["[[jobs]]", *(f"{name} = {_value(value)}" for name, value in job.items() if name != "options")]
    lines += [f"\n[jobs.options]\n{_pairs(job['options'])}"] if "options" in job else []
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{name} = {_value(value)}" for name, value in table.items())


def _value(value: Any) -> str:
    """Formats a value as TOML. Strings are written as in JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_value(name)} = {_value(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        check_text("its text", value)
    return "".join(map(_printed, json.dumps(value, ensure_ascii=False)))


def _printed(character: str) -> str:
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
