"""Lets users name a job or an execution by its id or its key, with ``--client`` if several clients have that key.

Only this module converts names to ids. A positional argument is an id if it is a UUID, and otherwise a key. The value
of ``--key`` is always a key.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answer_tables import Answer
from pgsched.cli.options import options
from pgsched.domain.id_or_key import as_key
from pgsched.errors import InvalidInput
from pgsched.store.lookup.named import Kind

Question = Callable[..., Awaitable[Answer]]
name_argument = click.argument("name", metavar="ID-or-KEY", required=False)
key_option = click.option("--key", metavar="KEY", help="Key; needed only if the key looks like an id.")
job_option = click.option("--job", metavar="ID-or-KEY", help="Only this job.")


def of_one(kind: Kind) -> Callable[[Question], Question]:
    """Adds an argument for the id or key of one object of this kind, and passes the object's ``id``."""

    def decorate(question: Question) -> Question:
        @wraps(question)
        async def asked(backend: Any, *, name: str | None, key: str | None, client: str | None, **given: Any) -> Answer:
            id = await id_of_one(backend, kind, name, key, client)
            if id is None:
                raise InvalidInput(f"no {kind} is given: give its id or its key")
            return await question(backend, id=id, **given)

        whose = click.option("--client", metavar="NAME", help="Client that the key belongs to, if several have it.")
        return options(name_argument, key_option, whose)(asked)

    return decorate


def of_job(question: Question) -> Question:
    """Adds ``--job``, and passes the job's id. The command must have ``--client``, for the job's key."""

    @wraps(question)
    async def asked(backend: Any, *, job: str | None, client: str | None, **given: Any) -> Answer:
        id = None if job is None else await backend.identify("job", job, client)
        return await question(backend, job=id, client=client, **given)

    return job_option(asked)


async def id_of_one(backend: Any, kind: Kind, name: str | None, key: str | None, client: str | None) -> UUID | None:
    """Returns the id for the given name or key, or None if neither is given. Raises InvalidInput if both are given, and
    whatever the backend raises."""
    if name is not None and key is not None:
        raise InvalidInput(f"the {kind} is given twice: give either the argument or --key")
    named = name if key is None else as_key(key)
    return None if named is None else await backend.identify(kind, named, client)
