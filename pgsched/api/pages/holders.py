"""What holds executions back, in words for people, with the page on which something can be done about it."""

from dataclasses import dataclass

from pgsched.api.pages.gate_words import words_of
from pgsched.api.pages.rendering import instant
from pgsched.store.gates.targets import Sidelined
from pgsched.store.lookup.now_lines import GateLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The words for a line. ``why`` is known of targets."""

    line: GateLine
    text: str
    link: str | None
    why: str | None


def holder_of(line: GateLine) -> Holder:
    """The words for a gate."""
    words = words_of(line.name)
    if line.target is None:
        return Holder(line=line, text=words.name, link=words.page, why=None)
    text = f"{line.target.client or 'All clients'} → {line.target.host}"
    return Holder(line=line, text=text, link="/targets", why=_why(line.target))


def _why(target: Sidelined) -> str:
    """Since when, for what reason, and until when."""
    parts = [f"since {instant(target.failing_since or target.since)}"]
    if target.reason:
        parts.append(target.reason)
    if target.until is not None:
        parts.append(f"{'until' if target.state == 'by hand' else 'tried again at'} {instant(target.until)}")
    return "; ".join(parts)
