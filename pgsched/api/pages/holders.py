"""What holds executions back, in words for people, with the page on which something can be done about it."""

from dataclasses import dataclass

from pgsched.api.pages.rendering import instant
from pgsched.api.pages.routing import client_page
from pgsched.domain.capability import ALONE, WORKER
from pgsched.domain.gate import CIRCUIT, CLIENT, HOST, KEY, ORDER, QUEUE
from pgsched.store.gates.targets import Sidelined
from pgsched.store.lookup.now_lines import GateLine

_WORDS = {
    HOST: ("Limit of host {name}", "/limits"),
    QUEUE: ("Limit of queue {name}", "/limits"),
    KEY: ("Limit of key {name}", "/limits"),
    WORKER: ("No worker has {name}", "/workers"),
    CIRCUIT: ("Target {name}", "/targets"),
    ALONE: ("{name} has ended workers, and waits to be run alone", "/workers"),
    ORDER: ("An earlier execution of the same ordering key", "/ordering-keys"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The words for a line. ``why`` is known of targets."""

    line: GateLine
    text: str
    link: str | None
    why: str | None


def holder_of(line: GateLine) -> Holder:
    """The words for a gate."""
    text, link = _text_of(line)
    why = None if line.target is None else _why(line.target)
    return Holder(line=line, text=text, link=link, why=why)


def _text_of(line: GateLine) -> tuple[str, str | None]:
    if line.target is not None:
        return f"{line.target.client or 'All clients'} → {line.target.host}", "/targets"
    if line.name.startswith(CLIENT):
        client = line.name.removeprefix(CLIENT)
        return f"Limit or hold of client {client}", client_page(client)
    for prefix, (words, link) in _WORDS.items():
        if line.name.startswith(prefix):
            return words.format(name=line.name.removeprefix(prefix)), link
    return line.name, None


def _why(target: Sidelined) -> str:
    """Since when, for what reason, and until when."""
    parts = [f"since {instant(target.since)}"]
    if target.reason:
        parts.append(target.reason)
    if target.until is not None:
        parts.append(f"{'until' if target.state == 'by hand' else 'tried again at'} {instant(target.until)}")
    return "; ".join(parts)
