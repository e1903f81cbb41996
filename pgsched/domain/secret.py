"""References to secrets: what stands in options where the value of a secret is meant."""

import re
from dataclasses import dataclass
from typing import Any

from pgsched.errors import InvalidInput, InvalidOptions

LONGEST_SECRET = 16_384
"""Bytes of a secret's value."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PREFIX = re.compile(r"[ -~]{0,100}")
_EXAMPLE = '{"secret": "shop-token", "prefix": "Bearer "}'


@dataclass(frozen=True, slots=True)
class SecretRef:
    """The secret of this name that the execution's client has, behind a prefix that is no secret."""

    name: str
    prefix: str = ""


def parse_reference(header: str, value: dict[str, Any]) -> SecretRef:
    """Raises InvalidOptions, with what to write; what was written may be a secret that got here by mistake, and is not
    repeated."""
    if not value.keys() <= {"secret", "prefix"} or not is_name(value.get("secret")):
        raise InvalidOptions(f"the header {header} must be text, or name a secret as {_EXAMPLE} does")
    prefix = value.get("prefix", "")
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise InvalidOptions(f"the prefix of the header {header} must be at most 100 printable ASCII characters")
    return SecretRef(value["secret"], prefix)


def check_secret(name: str, value: str) -> None:
    """Raises InvalidInput for a name or a value that cannot be kept."""
    if not is_name(name):
        raise InvalidInput(
            "a secret is named by 1 to 100 letters, digits, dots, hyphens and underscores, the first a letter or digit"
        )
    if not 1 <= len(value.encode(errors="surrogatepass")) <= LONGEST_SECRET or "\x00" in value:
        raise InvalidInput(f"a secret has 1 to {LONGEST_SECRET} bytes of UTF-8, without NUL")


def is_name(name: Any) -> bool:
    """Whether a secret can be called so."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None
