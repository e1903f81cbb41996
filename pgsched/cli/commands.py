"""The common parts of commands on the database: each of them only declares its parameters, its question and its answer.

    @command(clients)
    @click.argument("client")
    @note_and_actor
    async def hold(connection: Any, client: str, note: str | None, actor: str | None) -> Answer:
        \"\"\"Start nothing more for a client until it is released.\"\"\"
        ...

The function is given a connection, in a transaction that is committed when it returns. ``--database-url`` and its like
and ``--json`` are added to what it takes. Its module imports the calls of the store at the top, except those that bring
SQLAlchemy along, which takes longer to import than most commands take.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import click

from pgsched.cli.answers import Answer
from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.reply import Reply, json_option


def command(
    group: click.Group | None = None, name: str | None = None, *, with_settings: bool = False
) -> Callable[[Callable[..., Awaitable[Answer]]], click.Command]:
    """Makes an async function a command, of a group where one is given; it is given the settings, too, if it wants."""

    def decorate(question: Callable[..., Awaitable[Answer]]) -> click.Command:
        @click.pass_obj
        @wraps(question)
        def run(reply: Reply, /, **given: Any) -> None:
            from pgsched.cli.database import ask

            settings = with_database(load_settings({name: given.pop(name) for name in (*DATABASE, "config")}))
            if with_settings:
                given["settings"] = settings
            answer = ask(settings, lambda connection: question(connection, **given))
            reply.give(answer.value, answer.text)
            if answer.note:
                reply.note(answer.note)
            if answer.then:
                answer.then(reply)

        made = json_option(click.command(name)(settings_options(DATABASE)(run)))  # the help has it last
        if group is not None:
            group.add_command(made)
        return made

    return decorate
