"""Signs callbacks as defined by Standard Webhooks: HMAC-SHA256 over id, timestamp and body.

The receiver has the same secret. It recomputes the signature over the raw body, compares in constant time, and refuses
old timestamps. Clients see their secret as ``whsec_`` and base64; this module uses the decoded bytes.
"""

import binascii
import hmac
from collections.abc import Sequence
from functools import lru_cache


def sign_by_each(secrets: Sequence[bytes], id: str, timestamp: int, body: bytes) -> str:
    """Returns the value of ``webhook-signature``: a signature for each secret, separated by spaces."""
    return " ".join(sign(secret, id, timestamp, body) for secret in secrets)


def sign(secret: bytes, id: str, timestamp: int, body: bytes) -> str:
    """Returns one signature, such as ``v1,K5oZ…=``. ``timestamp`` is in seconds since 1970."""
    begun = _begun(secret).copy()
    begun.update(b"%b.%d.%b" % (id.encode(), timestamp, body))
    return "v1," + binascii.b2a_base64(begun.digest(), newline=False).decode("ascii")


@lru_cache(maxsize=1024)
def _begun(secret: bytes) -> hmac.HMAC:
    """Returns an HMAC without data. Cached, because looking up the algorithm is most of the work."""
    return hmac.new(secret, digestmod="sha256")
