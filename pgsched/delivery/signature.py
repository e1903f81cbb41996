"""Signatures of callbacks as Standard Webhooks defines them: HMAC-SHA256 over id, timestamp and body.

The receiver holds the same secret, recomputes the signature over the raw body, compares in constant time,
and refuses timestamps that are too old. Clients see their secret as ``whsec_`` and base64; here it is the
bytes behind that.
"""

import base64
import binascii
import hmac

from pgsched.errors import InvalidInput

_PREFIX = "whsec_"


def sign(secret: bytes, id: str, timestamp: int, body: bytes) -> str:
    """The value of ``webhook-signature``, such as ``v1,K5oZ…=``. ``timestamp`` is seconds since 1970."""
    digest = hmac.digest(secret, f"{id}.{timestamp}.".encode() + body, "sha256")
    return "v1," + base64.b64encode(digest).decode("ascii")


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
