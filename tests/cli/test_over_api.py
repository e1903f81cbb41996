"""Commands over the API: each gives the same answer as over the database, or says that it needs the database."""

import json
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import click
import psycopg
import pytest

from pgsched.sealing import new_key
from pgsched.settings import Settings
from tests.api.access_arrange import make_key
from tests.cli.conftest import Run
from tests.cli.test_documented import COMMANDS
from tests.processes import serving_alone
from tests.store.bulk.bulk_arrange import bulk
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import call, schedule

Db = psycopg.Connection[Any]
_RING = new_key()
_DAY = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z")
_AT = ("--fire-at", "2030-01-01T00:00:00Z")
_WORDS: dict[str, tuple[str, ...]] = {
    "schedule": ("https://a.example", "--delay", "1h", "--payload", "[1.50]", "--label", "a=b", "--client", "shop"),
    "jobs list": ("--client", "{client}", "--last-outcomes", "1"),
    "jobs show": ("{job}",),
    "jobs edit": ("{job}", "--every", "2h", "--payload", "[1.50]"),
    "jobs pause": ("nightly", "--client", "{client}", "--note", "stocktaking"),
    "jobs resume": ("{job}",),
    "jobs trigger": ("{job}",),
    "jobs cancel": ("{job}", "--note", "moved"),
    "executions list": ("--job", "nightly", "--client", "{client}"),
    "executions show": ("{waiting}",),
    "executions why": ("once", "--client", "{client}"),
    "executions edit": ("{waiting}", *_AT, "--payload", "2"),
    "executions cancel": ("{waiting}", "--note", "sold out"),
    "events": ("--client", "{client}", "--since", "3h"),
    "bulk cancel": ("--client", "{client}", "--key", "none"),
    "bulk reschedule": ("--client", "{client}", "--key", "none", "--by", "1h"),
    "bulk replay": ("--client", "{client}", "--key", "none"),
    "bulk discard": ("--client", "{client}", "--key", "none"),
    "bulk backfill": ("--job", "{job}", *_DAY),
    "bulk pause": ("--client", "{client}"),
    "bulk resume": ("--client", "{client}"),
    "bulk cancel-jobs": ("--client", "{client}"),
    "bulk list": (),
    "bulk show": ("{operation}",),
    "bulk stop": ("{operation}",),
    "dead-letters list": ("--client", "{client}"),
    "dead-letters show": ("{letter}",),
    "dead-letters replay": ("{letter}", "--payload", "3", "--option", "timeout=9s"),
    "dead-letters discard": ("{letter}", "--note", "known"),
    "clients list": (),
    "clients show": ("{client}",),
    "clients set": ("{client}", "--weight", "7"),
    "clients hold": ("{client}",),
    "clients release": ("{client}",),
    "clients drop": ("{client}",),
    "clients rotate-signing-secret": ("{client}",),
    "clients drop-signing-secret": ("{client}",),
    "queues list": (),
    "queues show": ("default",),
    "queues create": ("{queue}-new",),
    "queues set": ("{queue}", "--weight", "5"),
    "queues pause": ("{queue}",),
    "queues resume": ("{queue}",),
    "queues drop": ("{queue}",),
    "limits list": (),
    "limits set": ("client", "{client}", "--rate", "5"),
    "limits drop": ("client", "{client}"),
    "workers list": (),
    "workers show": ("{worker}",),
    "workers drain": ("{worker}",),
    "workers resume": ("{worker}",),
    "admin secrets put": ("{client}", "token"),
    "admin secrets list": ("{client}",),
    "admin secrets drop": ("{client}", "token"),
    "targets list": ("--client", "{client}"),
    "targets sideline": ("other.example", "--client", "{client}"),
    "targets restore": ("shop.example", "--client", "{client}"),
    "executions blocked": ("--client", "{client}"),
    "executions unblock": ("{client}", "order-1"),
    "admin audit": ("--client", "{client}", "--subject", "{job}"),
    "jobs preview": ("nightly", "--client", "{client}", "--every", "2h", "--from", "2030-01-01T00:00:00Z"),
}  # fmt: skip
_SHOWS = {"list", "show", "blocked", "audit", "preview"}
_BLOCKED = """
insert into pgsched.blocked_keys (client_id, ordering_key, partition, execution_id)
values (%s, 'order-1', 0, pgsched_internal.new_id())"""
_WORKER = """
insert into pgsched.workers (name, queues, release, lease, expires_at)
values ('w', '{default}', '0', '30 s', now() + interval '1 hour') returning id"""


@pytest.fixture(scope="module")
def there(module_url: str) -> Iterator[Db]:
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def key(there: Db) -> str:
    return str(make_key(there))


@pytest.fixture(scope="module")
def address(module_url: str, key: str) -> Iterator[str]:
    with serving_alone(Settings(database_url=module_url, port=0, secret_keys=_RING)) as (found, _):
        yield found


def _api_option(command: click.Command) -> click.Option | None:
    return next((one for one in command.params if isinstance(one, click.Option) and "--api" in one.opts), None)


_ALL = {name.removeprefix("pgsched "): command for name, command in COMMANDS.items()}
_OPTIONS = {path: option for path, command in _ALL.items() if (option := _api_option(command)) is not None}
OVER_BOTH = [path for path, option in _OPTIONS.items() if not option.hidden]
DATABASE_ONLY = [path for path, option in _OPTIONS.items() if option.hidden]


def _things(db: Db, path: str = "") -> dict[str, str]:
    """Creates one of each kind of row for a new client; queues and operations only if the command needs them."""
    client = f"c{uuid.uuid4().hex[:8]}"
    job = schedule(db, client=client, key="nightly", every="1 hour")
    found = {
        "client": client,
        "queue": f"q{client}",
        "job": job,
        "waiting": schedule(db, client=client, key="once", target="python:note", delay="1 hour"),
        "letter": dead_letter(db, client=client, key="letter"),
    }
    if path.startswith("bulk"):
        found["operation"] = bulk(db, "cancel", {"client": client, "key": "none"})
    call(db, "set_client", client=client, changes={"weight": 3})
    if path.startswith("queues"):
        call(db, "create_queue", name=f"q{client}")
    call(db, "set_limit", kind="client", name=client, rate=100)
    call(db, "pause", kind="target", name="shop.example", client=client)
    db.execute(_BLOCKED, [client])
    worker = db.execute(_WORKER).fetchone()
    assert worker is not None
    return {name: str(thing) for name, thing in (found | {"worker": worker[0]}).items()}


def _filled(word: str, things: dict[str, str]) -> str:
    for name, thing in things.items():
        word = word.replace(f"{{{name}}}", thing)
    return word


def _told(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns an answer without its cursor and the next instant, which only the API computes."""
    apart = {"next"} | ({"fire_at"} if "schedule" in answer else set())
    return {name: value for name, value in answer.items() if name not in apart}


def _kinds(value: Any) -> Any:
    """Returns an answer with each value replaced by its type."""
    if isinstance(value, dict):
        return {name: _kinds(one) for name, one in value.items()}
    return [_kinds(one) for one in value[:1]] if isinstance(value, list) else type(value)


def test_every_command_over_the_api_is_tested() -> None:
    assert set(_WORDS) == set(OVER_BOTH)
    assert len(DATABASE_ONLY) > 10


@pytest.mark.parametrize("path", OVER_BOTH)
def test_a_command_answers_the_same_over_the_api_as_over_the_database(
    run: Run, there: Db, module_url: str, address: str, key: str, path: str
) -> None:
    shows = path.split()[-1] in _SHOWS
    things = _things(there, path)

    def answer(environment: dict[str, str], things: dict[str, str]) -> Any:
        words = [_filled(word, things) for word in _WORDS[path]]
        found = run(*path.split(), *words, "--json", env=environment | {"PGSCHED_SECRET_KEYS": _RING}, input="hush")
        assert found.exit_code == 0, found.output
        return json.loads(found.stdout)

    here = answer({"PGSCHED_DATABASE_URL": module_url}, things)
    over = answer({"PGSCHED_API": address, "PGSCHED_API_KEY": key}, things if shows else _things(there, path))
    if shows:
        assert _told(over) == _told(here)
    else:
        assert _kinds(over) == _kinds(here)
        assert over.get("changed") == here.get("changed")


@pytest.mark.parametrize("path", DATABASE_ONLY)
def test_a_database_only_command_refuses_the_api_flag(run: Run, path: str) -> None:
    arguments = [one for one in _ALL[path].params if isinstance(one, click.Argument)]
    given = ["2026-03-01" if isinstance(one.type, click.DateTime) else f"x{n}" for n, one in enumerate(arguments)]
    scope = ("--scope", "read") if path == "admin keys create" else ()
    found = run(*path.split(), *given, *scope, "--api", "http://127.0.0.1:1")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"error: pgsched {path} needs the database itself: give --database-url instead of --api\n"


def _refused(run: Run, *words: str, **environment: str) -> tuple[int, str]:
    found = run(*words, env=environment)
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1, found.stderr
    return found.exit_code, found.stderr


def test_an_invalid_api_address_is_refused(run: Run) -> None:
    for wrong in ("pgsched.example", "ftp://pgsched.example", ""):
        status, said = _refused(run, "jobs", "list", "--api", wrong)
        assert (status, "is not the URL of an API: write one such as" in said) == (2, True), said
    status, said = _refused(run, "jobs", "list", "--api", "https://ann:secret@pgsched.example")
    assert (status, "contains a password" in said, "ann:secret" in said) == (2, True, False)


def test_a_missing_invalid_or_insufficient_api_key_is_refused_with_advice(run: Run, there: Db, address: str) -> None:
    there_is_none = _refused(run, "jobs", "list", "--api", address)
    assert there_is_none[0] == 1
    assert "PGSCHED_API_KEY is not set: set it to a key from pgsched admin keys create" in there_is_none[1]
    other = _refused(run, "jobs", "list", "--api", address, PGSCHED_API_KEY=str(make_key(there)) + "x")
    assert (other[0], "PGSCHED_API_KEY is not accepted" in other[1]) == (1, True), other
    odd = _refused(run, "jobs", "list", "--api", address, PGSCHED_API_KEY="two words")
    assert (odd[0], "is not a valid key" in odd[1]) == (2, True), odd
    reads = str(make_key(there, clients=["shop"], scopes=["read"]))
    narrow = _refused(run, "schedule", "https://a", "--client", "shop", "--api", address, PGSCHED_API_KEY=reads)
    assert (narrow[0], "this request needs a key with the scope schedule" in narrow[1]) == (1, True), narrow
    foreign = _refused(run, "jobs", "list", "--client", "other", "--api", address, PGSCHED_API_KEY=reads)
    assert (foreign[0], "the key is not for the client 'other'" in foreign[1]) == (1, True), foreign


def test_an_unreachable_api_is_reported_as_unavailable(run: Run) -> None:
    found = run("executions", "list", "--api", "http://127.0.0.1:1", "--json")
    error = json.loads(found.stdout)["error"]
    assert (found.exit_code, error["code"]) == (1, "pgsched.unavailable")
    assert error["message"].startswith("the API at http://127.0.0.1:1/ cannot be reached")


def test_a_clients_api_key_reaches_only_that_clients_rows(run: Run, there: Db, address: str) -> None:
    mine, theirs = _things(there), _things(there)
    environment = {"PGSCHED_API": address, "PGSCHED_API_KEY": str(make_key(there, clients=[mine["client"]]))}
    assert run("executions", "why", "once", env=environment).exit_code == 0  # other clients use this key, too
    for path in ("jobs list", "executions list", "dead-letters list", "admin audit"):
        items = json.loads(run(*path.split(), "--json", env=environment).stdout)["items"]
        assert {item["client"] for item in items} == {mine["client"]}, path
    for path, thing in (("jobs show", "job"), ("executions cancel", "waiting"), ("dead-letters discard", "letter")):
        found = run(*path.split(), theirs[thing], env=environment)
        assert (found.exit_code, found.stderr[:16]) == (1, "error: there is "), found.output


def test_the_database_url_flag_overrides_the_api_variable(run: Run, module_url: str, address: str) -> None:
    parts = urlsplit(module_url)
    url = parts._replace(netloc=f"{parts.username}@{parts.hostname}:{parts.port}").geturl()
    environment = {"PGSCHED_API": "http://127.0.0.1:1", "PGPASSWORD": parts.password}
    assert run("jobs", "list", "--database-url", url, env=environment).exit_code == 0
    both = run("jobs", "list", "--database-url", url, "--api", address)
    assert (both.exit_code, "--api cannot be combined with --database-url" in both.stderr) == (2, True)
    actor = run("jobs", "pause", "x", "--api", address, "--actor", "ann")
    assert (actor.exit_code, "--actor and --api cannot be combined" in actor.stderr) == (2, True)
