"""What a browser keeps while it is at a provider to sign in."""

import base64
import hashlib
import secrets
from dataclasses import asdict, dataclass

import msgspec

from pgsched.errors import Unauthenticated


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """What a browser keeps until it comes back from the provider."""

    issuer: str
    state: str
    nonce: str
    verifier: str
    next: str

    @classmethod
    def at(cls, issuer: str, next: str) -> "PendingSignIn":
        state, nonce = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        return cls(issuer=issuer, state=state, nonce=nonce, verifier=secrets.token_urlsafe(48), next=next)

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")

    def written(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(asdict(self))).decode()

    @classmethod
    def read(cls, text: str | None) -> "PendingSignIn":
        """Raises Unauthenticated for what was not written here."""
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(text or ""), type=cls)
        except (ValueError, msgspec.DecodeError):
            raise Unauthenticated(
                "this sign-in was not begun here, or longer than ten minutes ago: begin again"
            ) from None
