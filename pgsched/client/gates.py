"""Requests about sidelined targets and blocked ordering keys, for the ``ask`` of both clients.

with Client("http://127.0.0.1:8080") as pgsched:
    pgsched.ask(gates.sideline("shop.example", note="they asked us to"))
    pgsched.ask(gates.restore("shop.example"))
    pgsched.ask(gates.unblock("payments", "account-42"))
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pgsched.client.asks import Ask, encode, present, query
from pgsched.client.settings import WasChanged
from pgsched.client.values import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidelined:
    """A host that is left alone or recovers, for one ``client`` or (None) for all.

    ``state`` is ``failing``, ``probing``, ``recovering`` or ``by hand``; ``until`` is None where nobody knows;
    ``openings`` is how often in a row it was found failing; ``held`` is counted up to 10,000.
    """

    gate: str
    host: str
    client: str | None
    state: str
    until: datetime | None
    openings: int
    reason: str | None
    since: datetime
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedKey:
    """An ordering key whose others wait since ``execution_id`` failed for good; ``waiting`` is counted up to 10,000."""

    client: str
    ordering_key: str
    queue: str | None
    execution_id: UUID
    reason: str | None
    blocked_at: datetime
    waiting: int


def list_sidelined(*, client: str | None = None, limit: int = 50, after: str | None = None) -> Ask[Page[Sidelined]]:
    asked = query(client=client, limit=limit, after=after)
    return Ask(method="GET", path="/v1/targets/sidelined", answer=Page[Sidelined], query=asked)


def sideline(
    host: str, *, client: str | None = None, until: datetime | str | None = None, note: str | None = None
) -> Ask[WasChanged]:
    """Calls nothing more there, for one client or for all, until an instant or until it is restored."""
    moment = until.isoformat() if isinstance(until, datetime) else until
    body = encode(present({"host": host, "client": client, "until": moment, "note": note}), "what is to be sidelined")
    return Ask(method="POST", path="/v1/targets/sideline", answer=WasChanged, body=body)


def restore(host: str, *, client: str | None = None) -> Ask[WasChanged]:
    """Calls it again, a few executions a second at first."""
    body = encode(present({"host": host, "client": client}), "what is to be restored")
    return Ask(method="POST", path="/v1/targets/restore", answer=WasChanged, body=body)


def list_blocked(
    *, client: str | None = None, limit: int = 50, after: UUID | str | None = None
) -> Ask[Page[BlockedKey]]:
    asked = query(client=client, limit=limit, after=after)
    return Ask(method="GET", path="/v1/ordering-keys/blocked", answer=Page[BlockedKey], query=asked)


def unblock(client: str, ordering_key: str) -> Ask[WasChanged]:
    """Lets the others of the key go on, without the one that failed."""
    body = encode({"client": client, "ordering_key": ordering_key}, "the key to unblock")
    return Ask(method="POST", path="/v1/ordering-keys/unblock", answer=WasChanged, body=body)
