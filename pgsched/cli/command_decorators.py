"""Decorators for commands, so that a command consists only of its parameters, its question and its answer.

    @command(clients)
    @click.argument("client")
    @actor_option
    async def drop(backend: Any, client: str) -> Answer:
        \"\"\"Delete a client's settings. Its jobs and executions stay.\"\"\"
        ...

The function receives a backend (see ``api_or_database``): the API, or the database in a transaction that is committed
when the function returns. The decorator adds ``--api``, ``--database-url``, ``--data-dir``, ``--config`` and
``--json``, and passes ``--actor`` to the backend rather than to the function.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import click

from pgsched.cli.answer_tables import Answer, changed
from pgsched.cli.api_or_database import api_option, asking, refuse_api
from pgsched.cli.options import note_and_actor
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.settings_flags import DATABASE, load_settings, settings_options, with_database

Question = Callable[..., Awaitable[Answer]]
Decorator = Callable[[Question], click.Command]
_FLAGS = (*DATABASE, "config")


def command(group: click.Group | None = None, name: str | None = None, *, with_ask: bool = False) -> Decorator:
    """Turns an async function into a command, which is added to ``group`` if given. With ``with_ask``, the function
    also receives ``ask``, with which it can run further questions later."""

    def answer_of(question: Question, given: dict[str, Any]) -> Answer:
        flags = {flag: given.pop(flag) for flag in _FLAGS}
        ask = asking(flags, given.pop("api"), given.pop("actor", None))
        if with_ask:
            given["ask"] = ask
        found: Answer = ask(lambda backend: question(backend, **given))
        return found

    return _made(group, name, answer_of, is_for_both=True)


def switch(group: click.Group, named: Callable[[Any], Any], method: str, says: str, done: str, otherwise: str) -> None:
    """Adds a command that pauses or resumes an object, which the argument ``named`` identifies. The command calls the
    backend's ``method``, whose first word is the command's name. It answers ``done``, or ``otherwise`` if nothing
    changed."""

    async def change(backend: Any, note: str | None, **what: Any) -> Answer:
        [name] = what.values()
        return changed(await getattr(backend, method)(name, note=note), done, otherwise, **what)

    change.__doc__ = says
    command(group, method.partition("_")[0])(named(note_and_actor(change)))


def database_command(
    group: click.Group | None = None, name: str | None = None, *, with_settings: bool = False
) -> Decorator:
    """Turns an async function into a command that needs the database. With ``with_settings``, also passes the
    settings."""

    def answer_of(question: Question, given: dict[str, Any]) -> Answer:
        from pgsched.cli.database_connection import ask

        words = click.get_current_context().command_path.split()
        refuse_api(" ".join(["pgsched", *words[1:]]), given.pop("api"))
        settings = with_database(load_settings({flag: given.pop(flag) for flag in _FLAGS}))
        if with_settings:
            given["settings"] = settings
        return ask(settings, lambda connection: question(connection, **given))

    return _made(group, name, answer_of, is_for_both=False)


def _made(
    group: click.Group | None, name: str | None, answer_of: Callable[..., Answer], *, is_for_both: bool
) -> Decorator:
    def decorate(question: Question) -> click.Command:
        @click.pass_obj
        @wraps(question)
        def run(reply: Reply, /, **given: Any) -> None:
            answer = answer_of(question, given)
            reply.give(answer.value, answer.text)
            if answer.note:
                reply.note(answer.note)
            if answer.then:
                answer.then(reply)

        asked = api_option(hidden=not is_for_both)(settings_options(DATABASE)(run))
        made = json_option(click.command(name)(asked))  # applied last, so that help lists it last
        if group is not None:
            group.add_command(made)
        return made

    return decorate
