"""Keys of the API: their tokens, ``psk_<id>_<secret>``, and what they let their holder do.

The secret is 256 random bits, so that its hash needs no salt and no rounds: nobody tries them all.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any, Literal, get_args

Scope = Literal["schedule", "read", "operate", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_TOKEN = re.compile(r"psk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    """What the holder of a key sends. It is not shown in logs: ``repr`` has the id alone."""

    id: str
    secret: str

    @classmethod
    def new(cls, id: str | None = None) -> "Token":
        """A token with another secret, of this key or of a new one."""
        secret = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")
        return cls(id or secrets.token_hex(8), secret)

    @classmethod
    def parse(cls, text: str) -> "Token | None":
        """The parts of a token; None for what cannot be one."""
        found = _TOKEN.fullmatch(text)
        return cls(found[1], found[2]) if found else None

    @property
    def hash(self) -> bytes:
        """What is kept of the secret."""
        return hashlib.sha256(self.secret.encode()).digest()

    def fits(self, hash: bytes | None) -> bool:
        """Whether this is the hash of the secret; it takes as long for a wrong one."""
        return hash is not None and hmac.compare_digest(self.hash, hash)

    def __str__(self) -> str:
        return f"psk_{self.id}_{self.secret}"

    def __repr__(self) -> str:
        return f"Token({self.id!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What somebody may do: for these clients (None: for all), within these scopes. ``subject`` is who asks, as the
    audit log has it."""

    subject: str
    clients: frozenset[str] | None
    scopes: frozenset[str]

    @property
    def payers(self) -> frozenset[str]:
        """Whose share of what is bounded its requests take: that of each client it is for. A key for all clients has a
        share of its own, and so has what is for none."""
        return self.clients or frozenset(("\0",) if self.clients is not None else (f"\0{self.subject}\0",))

    def is_for(self, client: str) -> bool:
        return self.clients is None or client in self.clients

    def settings(self) -> dict[str, Any]:
        """What a session of the API says of it."""
        clients = None if self.clients is None else sorted(self.clients)
        return {"clients": clients, "admin": "on" if "admin" in self.scopes else "off", "subject": self.subject}


NOBODY = Grant(subject="", clients=frozenset(), scopes=frozenset())
"""For no clients, and no scope."""
ANYBODY = Grant(subject="", clients=None, scopes=frozenset(SCOPES))
"""The grant of requests to an API that has no keys: all clients and all scopes."""
EVERYBODY = Grant(subject="", clients=None, scopes=frozenset())
"""For what the API does for all at once; nothing of it is shown to anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """What a token is checked against; seconds are counted from the moment of the look-up."""

    id: str
    hash: bytes
    former_hash: bytes | None
    former_left: float | None
    subject: str
    clients: list[str] | None
    scopes: list[str]
    expires_in: float | None
    revoked: bool
    rate: int | None
    burst: int | None
