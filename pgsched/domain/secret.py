"""Secrets of clients: what they can be, and the references that stand in options where the value of one is meant."""

import base64
import re
import secrets
from dataclasses import dataclass

from pgsched.errors import InvalidInput

LONGEST_SECRET = 16_384
"""Bytes of a secret's value."""
SIGNING = "signing secret"
"""The name that signing secrets are sealed for; no other secret can have it."""
_SIGNING_PREFIX = "whsec_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """The secret of this name that the execution's client has, behind a prefix that is no secret."""

    name: str
    prefix: str = ""


def check_secret(name: str, value: str) -> None:
    """Raises InvalidInput for a name or a value that cannot be kept."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "a secret is named by 1 to 100 letters, digits, dots, hyphens and underscores, the first a letter or digit"
        )
    if not 1 <= len(value.encode(errors="surrogatepass")) <= LONGEST_SECRET or "\x00" in value:
        raise InvalidInput(f"a secret has 1 to {LONGEST_SECRET} bytes of UTF-8, without NUL")


def new_signing_secret() -> str:
    """A new signing secret, as its client sees it."""
    return _SIGNING_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def parse_signing_secret(text: str) -> bytes:
    """The bytes of a signing secret, which is written as ``whsec_<base64>``.

    Raises InvalidInput unless it is written so and has the 24 to 64 bytes that Standard Webhooks asks for.
    """
    wanted = f"it is no signing secret; write {_SIGNING_PREFIX} and the base64 of 24 to 64 random bytes"
    if not text.startswith(_SIGNING_PREFIX):
        raise InvalidInput(wanted)
    try:
        found = base64.b64decode(text.removeprefix(_SIGNING_PREFIX), validate=True)
    except ValueError:
        raise InvalidInput(wanted) from None
    if not 24 <= len(found) <= 64:
        raise InvalidInput(wanted)
    return found
