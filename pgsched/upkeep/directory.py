"""What this worker knows of the clients: what they keep, for how long their executions matter, what they sign with.
Read again when they change, and every few seconds."""

import base64
import binascii
from collections.abc import Iterator, Sequence

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import workers
from pgsched.store.connect import Link
from pgsched.store.workers import ClientSettings


class Directory(Service):
    """Answers from memory, once ``loaded``; a client without settings of its own has the defaults."""

    name = "directory"

    def __init__(self, link: Link, events: Events, *, every: float = 10.0) -> None:
        super().__init__(events)
        self._link, self._every = link, every
        self._keep: dict[str, bool] = {}
        self._secrets: dict[str, bytes] = {}
        self._relevancy: dict[str, float] = {}
        self._weights: dict[str, int] = {}
        self.loaded = False

    async def turn(self) -> float:
        clients = await workers.client_settings(await self._link.get())
        self._keep = {client.client_id: client.keep == "all" for client in clients}
        self._secrets = dict(self._decoded(clients))
        self._relevancy = {one.client_id: one.relevant_for for one in clients if one.relevant_for is not None}
        self.loaded = True
        return self._every

    def _decoded(self, clients: Sequence[ClientSettings]) -> Iterator[tuple[str, bytes]]:
        for client in clients:
            if not client.signing_secret:
                continue
            try:
                yield client.client_id, base64.b64decode(client.signing_secret.removeprefix("whsec_"))
            except binascii.Error:  # the table's own check forbids it; one client must not stop the others
                self.events.emit("client.invalid", client=client.client_id, reason="signing_secret is not base64")

    @property
    def count(self) -> int:
        """How many clients are known."""
        return len(self._keep)

    def weight(self, client_id: str) -> int:
        """This client's part of what a saturated worker does."""
        return self._weights.get(client_id, 1)

    async def recover(self, error: Exception) -> None:
        await self._link.drop(error)

    def keeps_success(self, client_id: str) -> bool:
        """Whether succeeded executions of this client enter history."""
        return self._keep.get(client_id, True)

    def relevant_for(self, client_id: str) -> float | None:
        """Seconds after their instants for which this client's executions matter where they do not say so."""
        return self._relevancy.get(client_id)

    def signing_secret(self, client_id: str) -> bytes | None:
        """The key with which this client's callbacks are signed."""
        return self._secrets.get(client_id)
