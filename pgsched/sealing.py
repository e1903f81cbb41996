"""Seals the secrets stored in the database, using AES-256-GCM and keys that the database never sees.

The first key of a ring seals new secrets, and each key opens the secrets that it has sealed. A sealed secret names its
key, so keys can be rotated while secrets are in use. A secret opens only for the client and name for which it was
sealed, so a row copied to another client is useless.
"""

import base64
import hashlib
import secrets
from typing import TYPE_CHECKING

from pgsched.errors import InvalidSettings, PgschedError
from pgsched.extras import extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY_BYTES, _ID_BYTES, _NONCE_BYTES = 32, 8, 12
_VERSION = b"\x01"
_HOW = "write keys printed by pgsched admin secrets new-key, separated by commas, the newest first"


class CannotOpen(PgschedError):
    """No key of the ring opens the secret, or the secret was sealed for another client or name."""


def new_key() -> str:
    """Returns a new key for the setting ``secret_keys``."""
    return base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


class KeyRing:
    """The keys of the setting ``secret_keys``."""

    def __init__(self, keys: dict[bytes, "AESGCM"], first: bytes) -> None:
        self._keys, self._first = keys, first

    @classmethod
    def parse(cls, text: str) -> "KeyRing | None":
        """Parses the setting. Returns None if it is empty. Raises InvalidSettings, without any key in the message, if
        it is invalid.
        """
        given = [key.strip() for key in text.split(",") if key.strip()]
        if not given:
            return None
        with extra("secrets", by="secret_keys"):
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        raw = [_decoded(key, number) for number, key in enumerate(given, start=1)]
        keys = {_id(key): AESGCM(key) for key in raw}
        return cls(keys, _id(raw[0]))

    def seal(self, client: str, name: str, value: str) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        head = _VERSION + self._first
        return head + nonce + self._keys[self._first].encrypt(nonce, value.encode(), _bound_to(head, client, name))

    def open(self, client: str, name: str, sealed: bytes) -> str:
        """Returns a decrypted secret. Raises CannotOpen if it cannot be decrypted."""
        from cryptography.exceptions import InvalidTag

        head, nonce, rest = sealed[: 1 + _ID_BYTES], sealed[1 + _ID_BYTES :][:_NONCE_BYTES], sealed[_BEFORE:]
        key = self._keys.get(head[1:]) if head[:1] == _VERSION else None
        if key is None:
            raise CannotOpen("the secret was sealed with a key that is not in secret_keys")
        try:
            return key.decrypt(nonce, rest, _bound_to(head, client, name)).decode()
        except (InvalidTag, ValueError):
            raise CannotOpen("the stored value was not sealed for this client and name") from None

    def has_key_of(self, sealed: bytes) -> bool:
        """Whether the ring has the key that sealed a secret, judging by the secret's header alone."""
        return sealed[:1] == _VERSION and sealed[1 : 1 + _ID_BYTES] in self._keys

    def is_newest(self, sealed: bytes) -> bool:
        """Whether a secret was sealed with the first key."""
        return sealed.startswith(_VERSION + self._first)


_BEFORE = 1 + _ID_BYTES + _NONCE_BYTES


def _decoded(key: str, number: int) -> bytes:
    try:
        found = base64.b64decode(key, validate=True)
    except ValueError:
        found = b""
    if len(found) != _KEY_BYTES:
        raise InvalidSettings(f"entry {number} of secret_keys is not a valid key: {_HOW}")
    return found


def _id(key: bytes) -> bytes:
    return hashlib.sha256(b"pgsched secret key\x00" + key).digest()[:_ID_BYTES]


def _bound_to(head: bytes, client: str, name: str) -> bytes:
    """Returns the data that is authenticated together with the secret. Neither a client nor a name contains NUL."""
    return b"\x00".join((head, client.encode(), name.encode()))
