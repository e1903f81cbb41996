"""Checks that headers are valid, and that pgsched does not set them itself.

The database refuses invalid headers too. Here they are checked before they are sent, when secrets have been filled in,
and when the command line converts them without a database.
"""

import re
from typing import Any

from pgsched.errors import InvalidOptions


def check_header(key: str, name: str, text: Any) -> None:
    """Raises InvalidOptions for a header that HTTP does not allow or that pgsched sets itself."""
    if not _HEADER_NAME.fullmatch(name):
        raise InvalidOptions(
            f"{key} contains a name that HTTP does not allow, {shown(name)}: use letters, digits and hyphens"
        )
    lower = name.lower()
    if lower in _CONNECTION_HEADERS or lower.startswith("proxy-"):
        raise InvalidOptions(f"{key} must not set {name}, which belongs to the connection, not to the request")
    if lower in _OUR_HEADERS or lower.startswith(("webhook-", "pgsched-")):
        raise InvalidOptions(f"{key} must not set {name}, which pgsched sets on every call")
    if not isinstance(text, str) or len(text) > 8192 or not _HEADER_VALUE.fullmatch(text):
        raise InvalidOptions(
            f"the header {name} must be text of at most 8192 printable ASCII characters, without line breaks"
        )


def shown(value: Any) -> str:
    """Returns a value as text for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_HEADER_VALUE = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")
_CONNECTION_HEADERS = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OUR_HEADERS = frozenset(
    {"accept-encoding", "content-type", "idempotency-key", "traceparent", "tracestate", "user-agent"}
)
