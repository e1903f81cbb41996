"""Finds jobs, executions and dead letters by key instead of id."""

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, Literal
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.errors import InvalidInput, NotFound
from pgsched.store.core.query import rows

Kind = Literal["job", "execution", "job or execution", "dead letter"]
_SHOWN = 10


async def id_of(
    connection: AsyncConnection[Any], kind: Kind, name: UUID | str, clients: Collection[str] | None = None
) -> UUID:
    """Returns the id of a job, execution or dead letter, given by id or by its key among these ``clients`` (None means
    all clients that the session sees). A key stands for the job that is not cancelled, the newest execution, or the
    newest open dead letter.

    Raises NotFound, and InvalidInput if several clients have the key.
    """
    if isinstance(name, UUID):
        return name
    under = await rows(
        connection, SimpleNamespace, "lookup/named", key=name, clients=None if clients is None else list(clients)
    )
    found = {one.client: id for one in under if (id := _of(kind, one)) is not None}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        theirs = ", ".join(sorted(found)[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
        raise InvalidInput(
            f"several clients have a {kind} with the key {name[:200]!r}: name one of the clients {theirs}"
        )
    raise NotFound(f"{_nothing(kind, name, clients)}{_but(under)}")


def _of(kind: Kind, under: SimpleNamespace) -> UUID | None:
    """Returns the id of a client's job, execution or dead letter with the key, depending on the kind."""
    newest = max(filter(None, (under.job, under.execution)))
    found: UUID | None = newest if kind == "job or execution" else getattr(under, kind.replace(" ", "_"))
    return found


def _nothing(kind: Kind, name: str, clients: Collection[str] | None) -> str:
    who = f"client {next(iter(clients))[:100]!r} has" if clients and len(clients) == 1 else "there is"
    return f"{who} no {kind} with the key {name[:200]!r}"


def _but(under: list[SimpleNamespace]) -> str:
    """Returns a hint about what else has the key."""
    if not under:
        return ": use the id, or look up the key in the list"
    if under[0].execution is not None:
        return f": it is the key of the execution {under[0].execution}"
    return f": it is the key of the job {under[0].job}"
