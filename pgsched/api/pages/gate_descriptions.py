"""Describes gates for users, with a link to the page where they can be changed."""

from dataclasses import dataclass
from datetime import timedelta

from pgsched.api.pages.rendering import instant, length, number
from pgsched.api.pages.routing import client_page
from pgsched.domain.capability import QUARANTINE, WORKER
from pgsched.domain.gate import CIRCUIT, CLIENT, HOST, KEY, ORDER, QUEUE
from pgsched.store.gates.sidelined_targets import Sidelined
from pgsched.store.lookup.now import HeldByGate
from pgsched.store.lookup.now_lines import GateLine


@dataclass(frozen=True, slots=True, kw_only=True)
class GateWords:
    """A gate's name, the page where the gate can be changed, and the texts for executions that it ``holds`` or
    ``held``."""

    name: str
    page: str | None = None
    holds: str
    held: str


_WORDS = {
    CLIENT: GateWords(
        name="Limit or hold of client {name}",
        holds="Its client {name} is on hold, or has reached its limit",
        held="Held until client {name} was released or had room under its limit",
    ),
    HOST: GateWords(
        name="Limit of host {name}",
        page="/limits",
        holds="Its host {name} has reached its limit, or was sidelined by hand",
        held="Held until host {name} had room under its limit or was restored",
    ),
    QUEUE: GateWords(
        name="Limit of queue {name}",
        page="/limits",
        holds="Its queue {name} has reached its limit",
        held="Held until queue {name} had room under its limit",
    ),
    KEY: GateWords(
        name="Limit of key {name}",
        page="/limits",
        holds="Its key {name} has reached its limit",
        held="Held until key {name} had room under its limit",
    ),
    CIRCUIT: GateWords(
        name="Target {host} for client {client}",
        page="/targets",
        holds="Target {host} is failing for client {client}, and is not called until it recovers",
        held="Held while target {host} was failing for client {client} and was not called",
    ),
    WORKER: GateWords(
        name="No worker has {name}",
        page="/workers",
        holds="No worker can deliver it: none has {name}",
        held="Held until a worker had {name}",
    ),
    ORDER: GateWords(
        name="An earlier execution with the same ordering key",
        page="/ordering-keys",
        holds="Another execution with its ordering key comes first",
        held="Held until earlier executions with its ordering key had ended",
    ),
    QUARANTINE: GateWords(
        name="Parked until its owner reschedules or cancels it",
        holds="Parked until its owner reschedules or cancels it",
        held="Parked until its owner rescheduled or cancelled it",
    ),
}


def words_of(gate: str) -> GateWords:
    """Returns the texts for a gate. Those for an unknown kind of gate contain its full name."""
    kind, _, name = gate.partition(":")
    found = _WORDS.get(f"{kind}:") or _WORDS.get(kind)
    if found is None:
        return GateWords(name=gate, holds=f"It is held back by {gate}", held=f"It was held back by {gate}")
    host, _, client = name.partition(" ")
    named = {"name": name, "host": host, "client": client}
    return GateWords(
        name=found.name.format(**named),
        page=client_page(name) if gate.startswith(CLIENT) else found.page,
        holds=found.holds.format(**named),
        held=found.held.format(**named),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GateHolder:
    """The texts for a line of the table of gates. ``why`` says what the limit is, or why and since when the gate holds
    executions."""

    line: GateLine
    text: str
    link: str | None
    why: str | None


def holder_of(line: GateLine) -> GateHolder:
    """Returns the texts for a line about a gate."""
    words = words_of(line.name)
    if line.target is None:
        why = _bound(line.found) if line.found else None
        return GateHolder(line=line, text=_name(line) or words.name, link=words.page, why=why)
    text = f"{line.target.client or 'All clients'} → {line.target.host}"
    return GateHolder(line=line, text=text, link="/targets", why=_why(line.target))


def _name(line: GateLine) -> str | None:
    """Names the client's hold or limit. Returns None if neither is known to be the reason."""
    if line.client is None or line.found is None:
        return None
    if line.found.on_hold:
        return f"Hold on client {line.client}"
    return f"Limit of client {line.client}" if bounds(line.found.rate, line.found.per, line.found.concurrency) else None


def _bound(found: HeldByGate) -> str | None:
    """Describes a limit or a hold, and since when the first execution in line has waited."""
    parts = []
    if found.on_hold:
        parts.append(f"on hold: {found.reason}" if found.reason else "on hold")
    else:
        parts += [f"at most {text}" for text in bounds(found.rate, found.per, found.concurrency)]
    if found.first_due is not None:
        parts.append(f"the first in line was due at {instant(found.first_due)}")
    return "; ".join(parts) or None


def bounds(rate: int | None, per: timedelta | None, concurrency: int | None) -> list[str]:
    """Describes what a limit allows."""
    found = [f"{number(rate)} per {length(per)}"] if rate is not None else []
    return [*found, f"{number(concurrency)} at once"] if concurrency is not None else found


def _why(target: Sidelined) -> str:
    """Says since when, until when and why a target is sidelined."""
    parts = [f"since {instant(target.failing_since or target.since)}"]
    if target.reason:
        parts.append(target.reason)
    if target.until is not None:
        parts.append(f"{'until' if target.state == 'by hand' else 'to be tried again at'} {instant(target.until)}")
    return "; ".join(parts)
