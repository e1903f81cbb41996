"""Decrypts clients' secrets. Secrets that executions name are cached for a few seconds."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field

from pgsched.batched_lookups import Batched
from pgsched.delivery.exchange import DeliveryFailed
from pgsched.domain.secret import SIGNING, parse_signing_secret
from pgsched.errors import InvalidInput
from pgsched.sealing import CannotOpen, KeyRing
from pgsched.store.admin import secrets
from pgsched.store.core.connect import Link

_KEPT_FOR = 10.0
_MANY = 1000

Wanted = tuple[str, str]
"""A client, and the name of one of its secrets."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A secret, looked up at ``asked`` (monotonic), and the hosts to which it may be sent, or why it is unavailable."""

    text: str | None = field(repr=False)
    trouble: str
    asked: float
    hosts: frozenset[str] = frozenset()


class Vault:
    """Decrypts secrets with the keys of the setting ``secret_keys``. Without keys, no secret is available."""

    def __init__(self, link: Link, ring: KeyRing | None) -> None:
        self._link, self._ring = link, ring
        self._look_ups = Batched(self._ask)
        self._kept: dict[Wanted, _Opened] = {}

    async def secret(self, client: str, name: str, host: str) -> str:
        """Returns the text of a secret, for a request to this host. Raises DeliveryFailed, which is retryable, if the
        secret is unavailable or may not be sent to this host."""
        if self._ring is None:
            raise DeliveryFailed(f"the secret {name} cannot be opened: this worker has no secret_keys")
        wanted = (client, name)
        found = self._kept.get(wanted)
        if found is None or time.monotonic() - found.asked > _KEPT_FOR:
            found = await self._look_ups.get(wanted)
        if found is None or found.text is None:
            why = found.trouble if found else "there is no secret of this name"
            raise DeliveryFailed(f"the secret {name} of the client {client} is not available: {why}")
        if host not in found.hosts:
            raise DeliveryFailed(
                f"the secret {name} of the client {client} must not be sent to {host[:300]}: store the secret "
                "again with that host among its hosts"
            )
        return found.text

    def open_signing(self, client: str, sealed: bytes) -> bytes:
        """Returns the key that signs a client's callbacks. Raises CannotOpen if the key cannot be decrypted."""
        if self._ring is None:
            raise CannotOpen("this worker has no secret_keys")
        try:
            return parse_signing_secret(self._ring.open(client, SIGNING, sealed))
        except InvalidInput as error:
            raise CannotOpen(str(error)) from None

    def forget(self) -> None:
        """Clears the cache, because a secret has changed."""
        self._kept.clear()

    async def close(self) -> None:
        await self._link.drop()

    async def _ask(self, wanted: Collection[Wanted]) -> dict[Wanted, _Opened]:
        asked = time.monotonic()
        try:
            rows = await secrets.look_up(await self._link.get(), wanted)
        except Exception as error:
            await self._link.drop(error)
            raise DeliveryFailed("a secret could not be read from the database") from error
        found = {(row.client_id, row.name): self._opened(row, asked) for row in rows}
        if len(self._kept) > _MANY:
            self._kept.clear()
        self._kept |= found
        return found

    def _opened(self, row: secrets.Sealed, asked: float) -> _Opened:
        assert self._ring is not None
        try:
            return _Opened(self._ring.open(row.client_id, row.name, row.sealed), "", asked, frozenset(row.hosts))
        except CannotOpen as error:
            return _Opened(None, str(error), asked)
