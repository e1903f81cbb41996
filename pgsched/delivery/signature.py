"""Signatures of callbacks as Standard Webhooks defines them: HMAC-SHA256 over id, timestamp and body.

The receiver holds the same secret, recomputes the signature over the raw body, compares in constant time,
and refuses timestamps that are too old. Clients see their secret as ``whsec_`` and base64; here it is the
bytes behind that.
"""

import base64
import binascii
import hmac
from collections.abc import Sequence
from functools import lru_cache

from pgsched.errors import InvalidInput

_PREFIX = "whsec_"


def sign_by_each(secrets: Sequence[bytes], id: str, timestamp: int, body: bytes) -> str:
    """The value of ``webhook-signature`` while several secrets are valid: one signature by each, spaces between."""
    return " ".join(sign(secret, id, timestamp, body) for secret in secrets)


def sign(secret: bytes, id: str, timestamp: int, body: bytes) -> str:
    """One signature, such as ``v1,K5oZ…=``. ``timestamp`` is seconds since 1970."""
    begun = _begun(secret).copy()
    begun.update(b"%b.%d.%b" % (id.encode(), timestamp, body))
    return "v1," + binascii.b2a_base64(begun.digest(), newline=False).decode("ascii")


@lru_cache(maxsize=1024)
def _begun(secret: bytes) -> hmac.HMAC:
    """The hash as far as the secret alone determines it; finding the algorithm is most of the work."""
    return hmac.new(secret, digestmod="sha256")


def parse_secret(text: str) -> bytes:
    """The bytes of a secret written as ``whsec_<base64>``.

    Raises InvalidInput unless it is written so and has the 24 to 64 bytes the standard asks for.
    """
    wanted = f"write a signing secret as {_PREFIX} and the base64 of 24 to 64 random bytes"
    if not text.startswith(_PREFIX):
        raise InvalidInput(wanted)
    try:
        secret = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise InvalidInput(wanted) from None
    if not 24 <= len(secret) <= 64:
        raise InvalidInput(wanted)
    return secret
