"""The API as a backend for commands: the SDK's client, with the additional methods that commands need."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from pgsched.api_responses import Page
from pgsched.cli.settings_sources import API_KEY
from pgsched.cli.why import Around
from pgsched.client.http import AsyncClient
from pgsched.domain.event_position import Position
from pgsched.domain.id_or_key import id_or_key
from pgsched.errors import NotFound, Refused, Unauthenticated
from pgsched.store.lookup.named import Kind
from pgsched.store.lookup.row_types import Event, Execution

_Found = TypeVar("_Found")


def ask_api(address: str, key: str | None, question: Callable[["ApiBackend"], Awaitable[_Found]]) -> _Found:
    """Runs ``question`` against the API. Raises InvalidInput for a bad address or key, Unavailable, and API errors."""

    async def run() -> _Found:
        async with ApiBackend(address, api_key=key) as api:
            return await question(api)

    try:
        return asyncio.run(run())
    except Unauthenticated as error:
        wrong = "is not accepted" if key else "is not set"
        raise Unauthenticated(f"{API_KEY} {wrong}: set it to a key from pgsched admin keys create; {error}") from error


class ApiBackend(AsyncClient):
    """Runs commands against the API."""

    async def identify(self, kind: Kind, name: str, client: str | None = None) -> UUID:
        """Returns the id of the object with the given id or key. Looking up a key needs the scope read."""
        found = id_or_key(name)
        if isinstance(found, UUID):
            return found
        match kind:
            case "job":
                return (await self.get_job(name, client=client)).id
            case "execution":
                return (await self.get_execution(name, client=client)).id
            case "dead letter":
                return (await self.get_dead_letter(name, client=client)).id
            case "job or execution":
                try:
                    return await self.identify("execution", name, client)
                except NotFound:
                    return await self.identify("job", name, client)

    async def change_job(self, id: UUID, changes: Mapping[str, Any], *, force: bool) -> tuple[bool, datetime | None]:
        """Changes a job. Returns whether anything changed, and when the job fires next."""
        before, after = await self.get_job(id), await self.edit(id, force=force, **changes)
        return before.updated_at != after.updated_at, after.fire_at

    async def preview_job(self, id: UUID, changes: Mapping[str, Any], *, start: datetime | None, count: int) -> Any:
        return await self.preview(id, start=start, count=count, **changes)

    async def cancel_job(self, id: UUID, *, note: str | None) -> bool:
        """Cancels a job. If the API key has the scope read, raises NotFound for the id of an execution; without that
        scope, cancels the execution."""
        with suppress(Refused):
            await self.get_job(id)
        return await self.cancel(id, note=note)

    async def change_execution(
        self, id: UUID, changes: Mapping[str, Any], *, note: str | None
    ) -> tuple[bool, datetime | None]:
        """Changes an execution. Returns whether anything changed, and when the execution fires."""
        said: dict[str, Any] = {} if note is None else {"note": note}
        before, after = await self.get_execution(id), await self.edit_execution(id, **changes, **said)
        return before != after, after.fire_at

    async def around(self, row: Execution) -> Around:
        """Returns the circumstances of an execution, except those that the API key may not read."""
        is_pulled, hold = False, None
        with suppress(NotFound, Refused):
            is_pulled = row.queue is not None and (await self.get_queue(row.queue)).pulled
        with suppress(NotFound, Refused):
            client = await self.get_client(row.client)
            hold = client if client.state == "held" else None
        return Around(now=datetime.now(UTC), is_pulled=is_pulled, hold=hold)

    async def list_events(self, *, after: str | None, since: timedelta, limit: int, **wanted: Any) -> Page[Event]:
        """Lists past events, without waiting for new ones."""
        start = None if after else datetime.now(UTC) - since
        place = str(after if start is None else Position.beginning(start))
        items: list[Event] = []
        async for event in self.events(after=place, wait="0s", **wanted):
            place = event.cursor
            if start is None or event.finished_at >= start:
                items.append(event)
            if len(items) == limit:
                break
        return Page(items=items, next=place)

    async def change_client(self, client: str, changes: Mapping[str, Any]) -> bool:
        return await _differs(self.get_client(client), lambda: self.set_client(client, **changes))

    async def change_queue(self, name: str, changes: Mapping[str, Any]) -> bool:
        before, after = await self.get_queue(name), await self.set_queue(name, **changes)
        return replace(before, waiting=after.waiting) != after

    async def change_limit(self, kind: str, name: str, amount: Mapping[str, Any]) -> bool:
        return await _differs(self.get_limit(kind, name), lambda: self.set_limit(kind, name, **amount))

    async def store_secret(self, client: str, name: str, value: str, *, hosts: Sequence[str] | None) -> bool:
        """Stores a secret. Returns False if it replaced an existing one."""
        there = {one.name async for one in self.iter_secrets(client)}
        await self.put_secret(client, name, value, hosts=hosts)
        return name not in there

    async def add_queue(self, name: str, *, pulled: bool, settings: Mapping[str, Any]) -> str | None:
        """Creates a queue. Returns no advice, because the API does not report the size of the server's lock table."""
        await self.create_queue(name, pulled=pulled, **settings)
        return None


async def _differs(before: Awaitable[object], change: Callable[[], Awaitable[object]]) -> bool:
    was = None
    with suppress(NotFound):
        was = await before
    return was != await change()
