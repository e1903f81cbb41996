"""Requests about clients, queues and limits, for the ``ask`` of both clients.

with Client("http://127.0.0.1:8080") as pgsched:
    pgsched.ask(settings.set_client("payments", weight=5, options={"timeout": "5s"}))
    pgsched.ask(settings.create_queue("orders", max_waiting=100_000))
    pgsched.ask(settings.set_limit("host", "shop.example", rate=100, burst=10))
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack
from urllib.parse import quote

from pgsched.client.asks import Ask, encode, present, query
from pgsched.client.values import Page
from pgsched.domain.duration import format_duration


class ClientSettings(TypedDict, total=False):
    """What is named is set; None is the default. ``options`` takes the place of all that was there."""

    keep: str | None
    options: Mapping[str, Any] | None
    weight: int | None
    database_role: str | None
    dead_letter_target: str | None
    dead_letters_for: str | None


class QueueSettings(TypedDict, total=False):
    """What is named is set; None is the default. ``options`` takes the place of all that was there."""

    options: Mapping[str, Any] | None
    weight: int | None
    max_waiting: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretHint:
    """A signing secret by its last characters; ``valid_until`` is None for the one that is not former."""

    hint: str
    valid_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientState:
    """What is set for a client; ``state`` is ``active`` or ``held``."""

    client: str
    keep: str
    options: dict[str, Any] | None
    weight: int
    state: str
    reason: str | None
    signing_secrets: tuple[SecretHint, ...]
    database_role: str | None
    dead_letter_target: str | None
    dead_letters_for: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """A queue; ``waiting`` is counted up to 10,000."""

    name: str
    options: dict[str, Any] | None
    weight: int
    max_waiting: int | None
    full_since: datetime | None
    paused_at: datetime | None
    reason: str | None
    waiting: int
    first_partition: int
    pulled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueList:
    items: tuple[QueueState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit; ``per`` is ISO 8601."""

    kind: str
    name: str
    rate: int | None
    per: str | None
    burst: int | None
    concurrency: int | None
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSecret:
    """The secret that signs from now on; it is not shown again."""

    client: str
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WasChanged:
    """``changed`` is false when it was so before."""

    changed: bool


def list_clients(*, limit: int = 50, after: str | None = None) -> Ask[Page[ClientState]]:
    return Ask(method="GET", path="/v1/clients", answer=Page[ClientState], query=query(limit=limit, after=after))


def get_client(client: str) -> Ask[ClientState]:
    return Ask(method="GET", path=_client(client), answer=ClientState)


def set_client(client: str, **settings: Unpack[ClientSettings]) -> Ask[ClientState]:
    """Sets what is named."""
    return Ask(method="PATCH", path=_client(client), answer=ClientState, body=_body(settings))


def drop_client(client: str) -> Ask[WasChanged]:
    """Forgets what is set for it; its jobs and executions stay."""
    return Ask(method="DELETE", path=_client(client), answer=WasChanged)


def hold_client(client: str, *, note: str | None = None) -> Ask[WasChanged]:
    """Begins nothing more of it until it is released."""
    return Ask(method="POST", path=f"{_client(client)}/hold", answer=WasChanged, body=_body({"note": note}))


def release_client(client: str, *, note: str | None = None) -> Ask[WasChanged]:
    return Ask(method="POST", path=f"{_client(client)}/release", answer=WasChanged, body=_body({"note": note}))


def rotate_secret(client: str, *, secret: str | None = None, keep_for: timedelta | str | None = None) -> Ask[NewSecret]:
    """Signs by a new secret, a random one where none is given; former ones stay valid for ``keep_for``, or a day."""
    kept = format_duration(keep_for) if isinstance(keep_for, timedelta) else keep_for
    body = _body(present({"secret": secret, "keep_for": kept}))
    return Ask(method="POST", path=f"{_client(client)}/secret", answer=NewSecret, body=body)


def drop_secret(client: str) -> Ask[WasChanged]:
    return Ask(method="DELETE", path=f"{_client(client)}/secret", answer=WasChanged)


def list_queues() -> Ask[QueueList]:
    return Ask(method="GET", path="/v1/queues", answer=QueueList)


def get_queue(name: str) -> Ask[QueueState]:
    return Ask(method="GET", path=_queue(name), answer=QueueState)


def create_queue(name: str, *, pulled: bool = False, **settings: Unpack[QueueSettings]) -> Ask[QueueState]:
    """Consumers claim from a queue that is ``pulled``; workers serve any other."""
    body = _body({"name": name, **({"pulled": True} if pulled else {}), **settings})
    return Ask(method="POST", path="/v1/queues", answer=QueueState, body=body)


def set_queue(name: str, **settings: Unpack[QueueSettings]) -> Ask[QueueState]:
    """Sets what is named."""
    return Ask(method="PATCH", path=_queue(name), answer=QueueState, body=_body(settings))


def drop_queue(name: str) -> Ask[WasChanged]:
    """Refused (Conflict) while something waits or runs in it, or jobs are in it."""
    return Ask(method="DELETE", path=_queue(name), answer=WasChanged)


def pause_queue(name: str, *, note: str | None = None) -> Ask[WasChanged]:
    return Ask(method="POST", path=f"{_queue(name)}/pause", answer=WasChanged, body=_body({"note": note}))


def resume_queue(name: str, *, note: str | None = None) -> Ask[WasChanged]:
    return Ask(method="POST", path=f"{_queue(name)}/resume", answer=WasChanged, body=_body({"note": note}))


def list_limits(*, kind: str | None = None, limit: int = 50, after: str | None = None) -> Ask[Page[Limit]]:
    asked = query(kind=kind, limit=limit, after=after)
    return Ask(method="GET", path="/v1/limits", answer=Page[Limit], query=asked)


def set_limit(
    kind: str,
    name: str,
    *,
    rate: int | None = None,
    per: timedelta | str = "PT1S",
    burst: int | None = None,
    concurrency: int | None = None,
) -> Ask[Limit]:
    """``rate`` begin in each ``per``, ``burst`` of them at once after a lull; ``concurrency`` run at once."""
    length = format_duration(per) if isinstance(per, timedelta) else per
    body = _body(present({"rate": rate, "per": length, "burst": burst, "concurrency": concurrency}))
    return Ask(method="PUT", path=_limit(kind, name), answer=Limit, body=body)


def drop_limit(kind: str, name: str) -> Ask[WasChanged]:
    return Ask(method="DELETE", path=_limit(kind, name), answer=WasChanged)


def _body(given: Mapping[str, Any]) -> bytes:
    return encode(dict(given), "what is to be set")


def _client(client: str) -> str:
    return f"/v1/clients/{quote(client, safe='')}"


def _queue(name: str) -> str:
    return f"/v1/queues/{quote(name, safe='')}"


def _limit(kind: str, name: str) -> str:
    return f"/v1/limits/{quote(kind, safe='')}/{quote(name, safe='')}"
