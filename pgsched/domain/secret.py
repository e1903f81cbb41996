"""Clients' secrets: what they may contain, and how options refer to them."""

import base64
import re
import secrets
from dataclasses import dataclass

from pgsched.errors import InvalidInput

LONGEST_SECRET = 16_384
"""Maximum length of a secret's value, in bytes."""
SIGNING = "signing secret"
"""The name under which signing secrets are sealed; no other secret can have this name."""
_SIGNING_PREFIX = "whsec_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """A reference, by name, to a secret of the execution's client. ``prefix`` is not secret, and is sent before the
    value."""

    name: str
    prefix: str = ""


def check_secret(name: str, value: str) -> None:
    """Raises InvalidInput if a secret cannot have this name or value."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "a secret's name must be 1 to 100 letters, digits, dots, hyphens or underscores, and must start with a "
            "letter or digit"
        )
    if not 1 <= len(value.encode(errors="surrogatepass")) <= LONGEST_SECRET or "\x00" in value:
        raise InvalidInput(f"a secret must be 1 to {LONGEST_SECRET} bytes of UTF-8, without NUL")


def new_signing_secret() -> str:
    """Returns a new signing secret, in the form that clients see."""
    return _SIGNING_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def parse_signing_secret(text: str) -> bytes:
    """Returns the bytes of a signing secret, which is written as ``whsec_<base64>``.

    Raises InvalidInput if the text has another form or does not encode the 24 to 64 bytes that Standard Webhooks
    requires.
    """
    wanted = f"this is not a signing secret; write {_SIGNING_PREFIX} followed by the base64 of 24 to 64 random bytes"
    if not text.startswith(_SIGNING_PREFIX):
        raise InvalidInput(wanted)
    try:
        found = base64.b64decode(text.removeprefix(_SIGNING_PREFIX), validate=True)
    except ValueError:
        raise InvalidInput(wanted) from None
    if not 24 <= len(found) <= 64:
        raise InvalidInput(wanted)
    return found
