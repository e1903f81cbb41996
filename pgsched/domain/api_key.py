"""API keys: their tokens, ``psk_<id>_<secret>``, and what they permit.

A secret has 256 random bits and cannot be guessed, so a single unsalted hash protects it.
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
    """The token that the holder of a key sends. ``repr`` contains only the id, because logs must not show the
    secret."""

    id: str
    secret: str

    @classmethod
    def new(cls, id: str | None = None) -> "Token":
        """Returns a token with a new secret, for the key ``id`` or for a new key."""
        secret = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")
        return cls(id or secrets.token_hex(8), secret)

    @classmethod
    def parse(cls, text: str) -> "Token | None":
        """Parses a token. Returns None if the text does not have the form of a token."""
        found = _TOKEN.fullmatch(text)
        return cls(found[1], found[2]) if found else None

    @property
    def hash(self) -> bytes:
        """The hash of the secret. The database stores only this hash."""
        return hashlib.sha256(self.secret.encode()).digest()

    def fits(self, hash: bytes | None) -> bool:
        """Whether ``hash`` is the hash of the secret, compared in constant time."""
        return hash is not None and hmac.compare_digest(self.hash, hash)

    def __str__(self) -> str:
        return f"psk_{self.id}_{self.secret}"

    def __repr__(self) -> str:
        return f"Token({self.id!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A caller's permission to act for ``clients`` (None for all) within ``scopes``. ``subject`` identifies the caller
    in the audit log.
    """

    subject: str
    clients: frozenset[str] | None
    scopes: frozenset[str]

    @property
    def payers(self) -> frozenset[str]:
        """The clients whose shares of a limited resource the caller's requests use. A caller that may act for all
        clients has a share of its own. All callers that may act for no client have one share together."""
        return self.clients or frozenset(("\0",) if self.clients is not None else (f"\0{self.subject}\0",))

    def is_for(self, client: str) -> bool:
        return self.clients is None or client in self.clients

    def settings(self) -> dict[str, Any]:
        """Returns the database settings for a session that acts under this grant."""
        clients = None if self.clients is None else sorted(self.clients)
        return {"clients": clients, "admin": "on" if "admin" in self.scopes else "off", "subject": self.subject}


NOBODY = Grant(subject="", clients=frozenset(), scopes=frozenset())
"""The grant for no clients and no scopes."""
ANYBODY = Grant(subject="", clients=None, scopes=frozenset(SCOPES))
"""The grant of every caller of an API without keys: all clients and all scopes."""
EVERYBODY = Grant(subject="", clients=None, scopes=frozenset())
"""The grant for the API's own work across all clients. No caller sees the rows read under this grant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """A stored key, against which tokens are checked. ``expires_in`` and ``former_left`` are in seconds from the
    look-up."""

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
