"""Authenticates requests by ``Authorization: Bearer``: an API key is checked against the database, and a token against
its provider's keys.

A key is cached for half a second from the start of its lookup, so every process refuses a revoked key within a second.
One statement looks up all keys that are currently needed, so requests with unknown keys never occupy more than one
connection.
"""

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgsched.api.connection_pool import WAIT, Database
from pgsched.api.quotas import RateLimits
from pgsched.batched_lookups import Batched
from pgsched.domain.api_key import ANYBODY, Grant, KnownKey, Token
from pgsched.errors import PgschedError, Unauthenticated, Unavailable
from pgsched.store import internal_verbs

if TYPE_CHECKING:
    from pgsched.api.provider_tokens import BearerTokens

_KEPT_FOR = 0.5
_OLDEST = 0.9  # seconds; a lookup that took longer is not used
_NOTED_EVERY = 60.0
_MANY = 1000
_HOW = (
    "send the header Authorization: Bearer psk_…; keys are created by pgsched admin keys create, and pgsched up writes "
    "one to the file authorization in its data directory (curl -H @.pgsched/authorization)"
)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A key as read from the database, the time of the lookup, and the resulting grant."""

    key: KnownKey
    asked: float
    grant: Grant

    @classmethod
    def of(cls, key: KnownKey, asked: float) -> "_Kept":
        clients = None if key.clients is None else frozenset(key.clients)
        who = f"{key.subject} (key {key.id})"
        return cls(key, asked, Grant(subject=who, clients=clients, scopes=frozenset(key.scopes)))

    def check(self, token: Token) -> None:
        """Raises Unauthenticated if the token is not valid for this key. Only callers with the right secret learn the
        reason."""
        key, age = self.key, time.monotonic() - self.asked
        former = key.former_left is not None and key.former_left > age and token.fits(key.former_hash)
        if not (token.fits(key.hash) or former):
            raise Unauthenticated(f"there is no such key; {_HOW}")
        if key.revoked:
            raise Unauthenticated(f"the key {key.id} is revoked; {_HOW}")
        if key.expires_in is not None and key.expires_in <= age:
            raise Unauthenticated(f"the key {key.id} has expired; {_HOW}")


class Authentication:
    """Returns grants for Authorization headers. If ``is_open``, everyone is admitted until a key exists. With
    ``bearer``, providers' tokens are accepted, too."""

    def __init__(self, database: Database, *, is_open: bool, bearer: "BearerTokens | None" = None) -> None:
        self._database, self._is_open, self._bearer = database, is_open and bearer is None, bearer
        self._open_until = 0.0
        self._kept: dict[str, _Kept] = {}
        self._noted: dict[str, float] = {}
        self._rate_limits = RateLimits()
        self._look_ups = Batched(self._ask)

    async def grant(self, header: str | None, *, page: bool = False) -> Grant:
        """Returns the grant for a header. With ``page``, also accepts the identity token of a sign-in. Raises
        Unauthenticated, TooManyRequests above the key's rate, and Unavailable if the database does not respond in
        time."""
        return await self._grant(header, counted=True, page=page)

    async def still(self, header: str | None) -> Grant:
        """Like ``grant``, but does not count towards the rate, because the request was already admitted."""
        return await self._grant(header, counted=False)

    async def _grant(self, header: str | None, *, counted: bool, page: bool = False) -> Grant:
        if header is None:
            if await self._takes_anybody():
                return ANYBODY
            raise Unauthenticated(_HOW)
        scheme, _, text = header.partition(" ")
        token = Token.parse(text.strip()) if scheme.lower() == "bearer" else None
        if token is None and self._bearer is not None and scheme.lower() == "bearer" and text.count(".") == 2:
            return await self._bearer.grant(text.strip(), counted=counted, page=page)
        if token is None:
            raise Unauthenticated(f"this is not a valid key; {_HOW}")
        kept = self._kept.get(token.id)
        if kept is None or time.monotonic() - kept.asked > _KEPT_FOR:
            kept = await self._look_up(token.id)
        kept.check(token)
        if counted and kept.key.rate is not None:
            self._rate_limits.take(f"the key {token.id}", kept.key.rate, kept.key.burst or kept.key.rate)
        await self._note(token.id)
        return kept.grant

    async def _takes_anybody(self) -> bool:
        if self._is_open and time.monotonic() > self._open_until:
            asked = time.monotonic()
            self._is_open = not await self._database.ask(internal_verbs.has_keys)
            self._open_until = asked + _KEPT_FOR
        return self._is_open

    async def _look_up(self, id: str) -> _Kept:
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            found = await self._look_ups.get(id)
            if found is None:
                raise Unauthenticated(f"there is no such key; {_HOW}")
            if time.monotonic() - found.asked < _OLDEST:
                return found
        raise Unavailable("the database took too long to look up the key: try again")

    async def _ask(self, ids: Collection[str]) -> dict[str, _Kept]:
        asked = time.monotonic()
        found = {
            key.id: _Kept.of(key, asked) for key in await self._database.ask(internal_verbs.look_up_keys, list(ids))
        }
        if len(self._kept) > _MANY:
            self._kept = {id: kept for id, kept in self._kept.items() if asked - kept.asked < _KEPT_FOR}
        self._kept |= found
        return found

    async def _note(self, id: str) -> None:
        """Records that a key was used, at most once a minute. Ignores pgsched's errors, so that the request goes on."""
        now = time.monotonic()
        if now - self._noted.get(id, -_NOTED_EVERY) >= _NOTED_EVERY:
            self._noted = {known: at for known, at in self._noted.items() if now - at < _NOTED_EVERY} | {id: now}
            with suppress(PgschedError):
                await self._database.ask(internal_verbs.note_key_use, id)
