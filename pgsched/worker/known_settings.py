"""Caches the settings of clients and queues: what history keeps, signing secrets, roles, and default options. The
settings are read again when they change, and every few seconds."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from pgsched.delivery.exchange import DeliveryFailed
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import DEFAULT_OPTIONS, Options, parse_options, without_spans
from pgsched.domain.queue_partitions import first_of, queue_of
from pgsched.errors import InvalidInput
from pgsched.sealing import CannotOpen
from pgsched.service import Service
from pgsched.store.admin import settings_for_workers
from pgsched.store.admin.settings_for_workers import ClientForWorker
from pgsched.store.core.connect import Link
from pgsched.telemetry import Events, Field

_Owner = TypeVar("_Owner", str, int)
_EVERY = 10.0
_NO_SETTINGS = ClientForWorker(
    client_id="", keep="all", options=None, weight=1, channels=None, database_role=None, signing_secrets=[]
)
OpenSigning = Callable[[str, bytes], bytes]


def _no_keys(client: str, sealed: bytes) -> bytes:
    raise CannotOpen("this worker has no secret_keys")


class KnownSettings(Service):
    """The settings, in memory once they are ``loaded``. A client without settings has the defaults.

    ``open_signing`` decrypts a client's signing secret, or raises CannotOpen."""

    name = "known_settings"
    rest = 3.0  # limits wake-ups, because any login can wake this service with a notification

    def __init__(self, link: Link, events: Events, open_signing: OpenSigning = _no_keys) -> None:
        super().__init__(events, link)
        self._link, self._open_signing = link, open_signing
        self._clients: dict[str, ClientForWorker] = {}
        self._secrets: dict[str, tuple[bytes, ...]] = {}
        self._opened: dict[tuple[str, bytes], bytes] = {}
        self._unsigned: dict[str, str] = {}
        self._options: dict[str, tuple[bytes, ...]] = {}
        self._of_queues: dict[int, tuple[bytes, ...]] = {}
        self._queue_weights: dict[int, int] = {}
        self._owned = frozenset[str]()
        self.loaded = False

    async def turn(self) -> float:
        clients = await settings_for_workers.client_settings(await self._link.get())
        queues = await settings_for_workers.queue_settings(await self._link.get())
        self._clients = {client.client_id: client for client in clients}
        self._open(clients)
        self._options = dict(self._usable("client", ((client.client_id, client.options) for client in clients)))
        self._of_queues = dict(self._usable("queue", ((first, options) for first, options, _ in queues)))
        self._queue_weights = {queue_of(first): weight for first, _, weight in queues}
        self._owned = frozenset().union(*(client.channels or () for client in clients))
        self.loaded = True
        return _EVERY

    def _usable(
        self, kind: str, found: Iterable[tuple[_Owner, bytes | None]]
    ) -> Iterator[tuple[_Owner, tuple[bytes, ...]]]:
        """Yields the default options that this release can parse, because a later release may have stored others."""
        for owner, options in found:
            if options is None:
                continue
            try:
                parse_options(options)
            except InvalidInput as error:
                named: dict[str, Field] = {kind: owner, "reason": str(error)}
                self.events.emit(f"{kind}.invalid", **named)
            else:
                yield owner, (options,)

    def _open(self, clients: Sequence[ClientForWorker]) -> None:
        """Decrypts new signing secrets. If a client's newest secret cannot be decrypted, the client's callbacks are not
        sent. Former secrets that cannot be decrypted are ignored."""
        before, troubled = self._opened, self._unsigned
        self._opened, self._secrets, self._unsigned = {}, {}, {}
        for client in clients:
            name, found = client.client_id, dict[bytes, None]()
            for sealed in client.signing_secrets:
                try:
                    secret = before.get((name, sealed)) or self._open_signing(name, sealed)
                except CannotOpen as error:
                    self._unsigned.setdefault(name, str(error))
                    if name not in troubled:
                        self.events.emit(
                            "client.invalid", client=name, reason=f"a signing secret cannot be opened: {error}"
                        )
                    if sealed is client.signing_secrets[0]:
                        break
                else:
                    self._opened[name, sealed] = secret
                    found[secret] = None
            if found:
                self._secrets[name] = tuple(found)

    def are_several(self) -> bool:
        """Whether more than one client is known."""
        return len(self._clients) > 1

    def has_settings(self, client_id: str) -> bool:
        """Whether a client has settings. If it has, an operator chose its name."""
        return client_id in self._clients

    def weight(self, client_id: str) -> int:
        """Returns the weight by which a client shares a saturated worker."""
        return self._clients.get(client_id, _NO_SETTINGS).weight

    def queue_weight(self, queue: int) -> int:
        """Returns the weight of a queue, given by number, in a worker that serves several queues."""
        return self._queue_weights.get(queue, 1)

    def keeps_success(self, client_id: str) -> bool:
        """Whether history keeps succeeded executions of this client."""
        return self._clients.get(client_id, _NO_SETTINGS).keep == "all"

    def defaults(self, client_id: str, partition: int) -> tuple[bytes, ...]:
        """Returns the default options of a client and of a partition's queue, in this order."""
        own = self._options.get(client_id, ())
        if not self._of_queues:
            return own
        return own + self._of_queues.get(first_of(partition), ())

    def options_of(self, row: ClaimedExecution) -> Options:
        """Returns the row's options, completed from the defaults of its client and its queue. Raises InvalidInput."""
        defaults = self.defaults(row.client_id, row.partition)
        if row.options is None and not defaults:
            return DEFAULT_OPTIONS
        if row.plan == 0:  # a backfill is intentionally late
            defaults = tuple(map(without_spans, defaults))
        return parse_options(row.options, *defaults)

    def database_role(self, client_id: str) -> str | None:
        """Returns the database role with which this client's functions are called, or None."""
        return self._clients.get(client_id, _NO_SETTINGS).database_role

    def channels(self, client_id: str) -> Collection[str] | None:
        """Returns the channels that this client's targets may use, or None for all."""
        return self._clients.get(client_id, _NO_SETTINGS).channels

    def is_of_others(self, client_id: str, target: str) -> bool:
        """Whether a target is among other clients' channels but not among this client's."""
        return target in self._owned and target not in (self.channels(client_id) or ())

    def signing_secrets(self, client_id: str) -> tuple[bytes, ...]:
        """Returns the secrets that sign this client's callbacks. Raises DeliveryFailed if the newest is unreadable."""
        found = self._secrets.get(client_id, ())
        if not found and client_id in self._unsigned:
            why = self._unsigned[client_id]
            raise DeliveryFailed(f"the signing secret of the client {client_id} is not available: {why}")
        return found
