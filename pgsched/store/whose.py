"""Whose rows a claim reads."""

from dataclasses import dataclass
from typing import Any, LiteralString

_INDENT: LiteralString = "\n            "


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Those of ``only`` one client; or of all but the clients ``apart`` and the one-shots of the clients ``held``; or
    of all, but not what recurs or has an order (``plain``)."""

    held: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    only: str | None = None
    plain: bool = False

    @property
    def condition(self) -> LiteralString:
        """What a statement says of the rows ``due`` beside their instants; nothing where all are read."""
        text: LiteralString = ""
        if self.only is not None:
            return _INDENT + "and due.client_id = %(only)s"
        if self.plain:
            return _INDENT + "and due.plan is null and due.ordering_key is null"
        if self.held:
            text += _INDENT + "and (due.client_id <> all (%(held)s) or due.plan is not null)"
        if self.apart:
            text += _INDENT + "and due.client_id <> all (%(apart)s)"
        return text

    @property
    def parameters(self) -> dict[str, Any]:
        """What the condition names."""
        if self.only is not None:
            return {"only": self.only}
        named = {"held": self.held, "apart": self.apart}
        return {name: list(clients) for name, clients in named.items() if clients}


EVERYBODY = Whose()
PLAIN = Whose(plain=True)
