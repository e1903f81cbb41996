"""What commands ask the database about what is set, from clients to targets, and about the audit log."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.duration import length_of
from pgsched.errors import InvalidInput
from pgsched.responses import Page, page_of
from pgsched.sealing import KeyRing
from pgsched.settings import Settings
from pgsched.store import verbs
from pgsched.store.admin import audit, clients, queues, secrets, worker_listing
from pgsched.store.core.lock_table import find_room
from pgsched.store.gates import blocked_keys, limits, sidelined_targets

_Found = TypeVar("_Found")
_Method = Callable[..., Awaitable[_Found]]


def _asks(question: Callable[..., Awaitable[_Found]]) -> _Method[_Found]:
    """A function of the store that looks something up, as a method."""

    async def ask(self: "SettingsOverDatabase", *given: Any) -> _Found:
        return await question(self.connection, *given)

    return ask


def does(verb: Callable[..., Awaitable[_Found]]) -> _Method[_Found]:
    """A function of the store that changes something, as a method; the actor does it."""

    async def do(self: "SettingsOverDatabase", *given: Any, **named: Any) -> _Found:
        return await verb(self.connection, *given, actor=self.actor, **named)

    return do


def pauses(kind: verbs.PausedKind) -> _Method[bool]:
    """Pauses what has this name or number, as a method."""

    async def pause(self: "SettingsOverDatabase", name: object, **given: Any) -> bool:
        return await verbs.pause(self.connection, kind, str(name), **given, actor=self.actor)

    return pause


def resumes(kind: verbs.PausedKind) -> _Method[bool]:
    """Resumes what has this name or number, as a method."""

    async def resume(self: "SettingsOverDatabase", name: object, **given: Any) -> bool:
        return await verbs.resume(self.connection, kind, str(name), **given, actor=self.actor)

    return resume


def _lists(
    question: Callable[..., Awaitable[list[_Found]]], place: Callable[[_Found], object]
) -> _Method[Page[_Found]]:
    """A function of the store that finds what comes after a place, as a method that answers with a page."""

    async def ask(
        self: "SettingsOverDatabase", *given: Any, limit: int, after: Any = None, **wanted: Any
    ) -> Page[_Found]:
        found = await question(self.connection, *given, limit=limit + 1, after=after, **wanted)
        return page_of(found, limit, place)

    return ask


class SettingsOverDatabase:
    """A connection, the command's settings, and who does what is done: the login where that is None."""

    def __init__(self, connection: AsyncConnection[Any], settings: Settings, actor: str | None) -> None:
        self.connection, self.settings, self.actor = connection, settings, actor

    list_clients = _lists(clients.all_clients, lambda row: row.client)
    get_client = _asks(clients.get_client)
    change_client = does(clients.set_client)
    hold_client = pauses("client")
    release_client = resumes("client")
    drop_client = does(verbs.drop_client)
    drop_signing_secret = does(verbs.drop_signing_secret)
    list_queues = _asks(queues.all_queues)
    get_queue = _asks(queues.get_queue)
    change_queue = does(queues.set_queue)
    pause_queue = pauses("queue")
    resume_queue = resumes("queue")
    drop_queue = does(verbs.drop_queue)
    list_workers = _asks(worker_listing.all_workers)
    get_worker = _asks(worker_listing.get_worker)
    drain_worker = pauses("worker")
    resume_worker = resumes("worker")
    list_limits = _lists(limits.all_limits, lambda row: f"{row.kind}:{row.name}")
    drop_limit = does(verbs.drop_limit)
    list_sidelined = _lists(sidelined_targets.sidelined, lambda row: row.gate)
    sideline = pauses("target")
    restore = resumes("target")
    list_secrets = _lists(secrets.all_secrets, lambda row: row.name)
    drop_secret = does(verbs.drop_secret)

    async def unblock(self, client: str, ordering_key: str) -> bool:
        return await verbs.resume(self.connection, "ordering_key", ordering_key, client=client, actor=self.actor)

    async def change_limit(self, kind: str, name: str, amount: Mapping[str, Any]) -> bool:
        asked = {"rate": None, "burst": None, "concurrency": None, **amount, "per": length_of(amount["per"])}
        return await verbs.set_limit(self.connection, kind, name, **asked, actor=self.actor)

    async def add_queue(self, name: str, *, pulled: bool, settings: Mapping[str, Any]) -> str | None:
        """What to set if the server's lock table is too small for it."""
        asked = {**settings, "pulled": True} if pulled else settings
        await queues.create_queue(self.connection, name, asked, actor=self.actor)
        return (await find_room(self.connection)).advice()

    async def rotate_signing_secret(self, client: str, *, secret: str | None, keep_for: timedelta | None) -> str:
        how: Any = {"secret": secret, "keep_for": clients.KEPT_FOR if keep_for is None else keep_for}
        return await clients.rotate_signing_secret(self.connection, self._ring, client, **how, actor=self.actor)

    async def store_secret(self, client: str, name: str, value: str, *, hosts: Sequence[str] | None) -> bool:
        """False if it replaces another."""
        return await secrets.put(self.connection, self._ring, client, name, value, hosts=hosts, actor=self.actor)

    async def list_blocked(self, *, client: str | None, limit: int, after: str | None) -> Page[blocked_keys.BlockedKey]:
        how: Any = {"client": client, "after": self.place(after)}
        found = await blocked_keys.blocked_keys(self.connection, limit=limit + 1, **how)
        return page_of(found, limit, lambda row: row.execution_id)

    async def list_changes(self, *, limit: int, after: str | int | None, **wanted: Any) -> Page[audit.AuditEntry]:
        how: Any = {"limit": limit + 1, "after": None if after is None else int(after)}
        found = await audit.changes(self.connection, audit.AuditFilter(**wanted), **how)
        return page_of(found, limit, lambda row: row.id)

    @staticmethod
    def place(after: str | None) -> UUID | None:
        """The place where a page ended. Raises InvalidInput."""
        try:
            return None if after is None else UUID(after)
        except ValueError:
            raise InvalidInput(f"--after is {after!r}: copy it from next of the page before") from None

    @property
    def _ring(self) -> KeyRing | None:
        return KeyRing.parse(self.settings.secret_keys)
