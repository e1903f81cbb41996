"""What gates are called, and what they do to the executions that they hold, in words for people."""

from dataclasses import dataclass

from pgsched.api.pages.routing import client_page
from pgsched.domain.capability import QUARANTINE, WORKER
from pgsched.domain.gate import CIRCUIT, CLIENT, HOST, KEY, ORDER, QUEUE


@dataclass(frozen=True, slots=True, kw_only=True)
class GateWords:
    """A gate: its name, and the page on which something can be done about it; what is said of an execution that it
    holds, and of one that it has held."""

    name: str
    page: str | None = None
    holds: str
    held: str


_WORDS = {
    CLIENT: GateWords(
        name="Limit or hold of client {name}",
        holds="Client {name} is on hold, or has reached its limit",
        held="Held until client {name} was released or had room under its limit",
    ),
    HOST: GateWords(
        name="Limit of host {name}",
        page="/limits",
        holds="The limit of host {name} is used up, or somebody has sidelined it",
        held="Held until host {name} had room under its limit or was restored",
    ),
    QUEUE: GateWords(
        name="Limit of queue {name}",
        page="/limits",
        holds="The limit of queue {name} is used up",
        held="Held until queue {name} had room under its limit",
    ),
    KEY: GateWords(
        name="Limit of key {name}",
        page="/limits",
        holds="The limit of key {name} is used up",
        held="Held until key {name} had room under its limit",
    ),
    CIRCUIT: GateWords(
        name="Target {host} for client {client}",
        page="/targets",
        holds="Target {host} fails for client {client}, and is left alone until it recovers",
        held="Held while target {host} failed for client {client} and was left alone",
    ),
    WORKER: GateWords(
        name="No worker has {name}",
        page="/workers",
        holds="No worker can deliver it: none has {name}",
        held="Held until a worker had {name}",
    ),
    ORDER: GateWords(
        name="An earlier execution of the same ordering key",
        page="/ordering-keys",
        holds="Another execution of its ordering key comes first",
        held="Held until the executions before it under its ordering key had ended",
    ),
    QUARANTINE: GateWords(
        name="Set aside until somebody decides", holds="It is set aside", held="Set aside until somebody decided"
    ),
}


def words_of(gate: str) -> GateWords:
    """The words for the gate of this name; for one of a kind that is not known here, its name."""
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
