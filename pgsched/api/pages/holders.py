"""What holds executions back, in words for people, with the page on which something can be done about it."""

from dataclasses import dataclass
from datetime import timedelta

from pgsched.api.pages.gate_words import words_of
from pgsched.api.pages.rendering import instant, length, number
from pgsched.store.gates.sidelined_targets import Sidelined
from pgsched.store.lookup.now import HeldByGate
from pgsched.store.lookup.now_lines import GateLine


@dataclass(frozen=True, slots=True, kw_only=True)
class GateHolder:
    """The words for a line; ``why`` says since when, and what is known of the reason."""

    line: GateLine
    text: str
    link: str | None
    why: str | None


def holder_of(line: GateLine) -> GateHolder:
    """The words for a gate."""
    words = words_of(line.name)
    if line.target is None:
        why = _bound(line.found) if line.found else None
        return GateHolder(line=line, text=_name(line) or words.name, link=words.page, why=why)
    text = f"{line.target.client or 'All clients'} → {line.target.host}"
    return GateHolder(line=line, text=text, link="/targets", why=_why(line.target))


def _name(line: GateLine) -> str | None:
    """Which of the two it is that holds a client's executions, where that is known."""
    if line.client is None or line.found is None:
        return None
    if line.found.on_hold:
        return f"Hold on client {line.client}"
    return f"Limit of client {line.client}" if bounds(line.found.rate, line.found.per, line.found.concurrency) else None


def _bound(found: HeldByGate) -> str | None:
    """What a limit or a hold lets pass, and since when the first in line waits."""
    parts = []
    if found.on_hold:
        parts.append(f"on hold: {found.reason}" if found.reason else "on hold")
    else:
        parts += [f"at most {text}" for text in bounds(found.rate, found.per, found.concurrency)]
    if found.first_due is not None:
        parts.append(f"the first in line was due at {instant(found.first_due)}")
    return "; ".join(parts) or None


def bounds(rate: int | None, per: timedelta | None, concurrency: int | None) -> list[str]:
    """What a limit lets pass, in words."""
    found = [f"{number(rate)} in each {length(per)}"] if rate is not None else []
    return [*found, f"{number(concurrency)} at once"] if concurrency is not None else found


def _why(target: Sidelined) -> str:
    """Since when, for what reason, and until when."""
    parts = [f"since {instant(target.failing_since or target.since)}"]
    if target.reason:
        parts.append(target.reason)
    if target.until is not None:
        parts.append(f"{'until' if target.state == 'by hand' else 'to be tried again at'} {instant(target.until)}")
    return "; ".join(parts)
