"""Who looks: the key that somebody has signed in with, in a cookie that scripts and other sites do not get.

The cookie is the key itself, or the token that a provider has given. So any process can check it as it checks what
comes in a header, it is worth nothing within a second of its end, and no list of sessions has to be kept. The browser
sends it to pages alone: under ``/v1`` only the header counts.
"""

from typing import Any
from urllib.parse import quote, urlsplit

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie

COOKIE = "pgsched_key"
BEGUN = "pgsched_sign_in"
"""The cookie of a browser that is at a provider to sign in."""
_KEPT, _AWAY = 12 * 3600, 600
LONGEST = 3_800
"""Characters of a key or token for which browsers have room in a cookie."""


def header_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """The key as a header would have it."""
    key = connection.cookies.get(COOKIE)
    return f"Bearer {key}" if key else None


def cookie(request: Request[Any, Any, Any], key: str) -> Cookie:
    """Keeps the key for half a day; an empty one forgets it."""
    return Cookie(
        key=COOKIE,
        value=key,
        max_age=_KEPT if key else 0,
        httponly=True,
        secure=is_secure(request),
        samesite="strict",
        path="/",
    )


def begun_cookie(request: Request[Any, Any, Any], begun: str) -> Cookie:
    """Keeps for ten minutes what a sign-in at a provider began with; an empty one forgets it. It comes back with the
    provider's redirect, so it is not kept to this site as strictly as the key is."""
    return Cookie(
        key=BEGUN,
        value=begun,
        max_age=_AWAY if begun else 0,
        httponly=True,
        secure=is_secure(request),
        samesite="lax",
        path="/sign-in",
    )


def is_secure(request: Request[Any, Any, Any]) -> bool:
    """Whether the browser has come over TLS, to here or to a proxy."""
    return request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"


def sign_in_url(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Where to sign in, and from there back to the page that was asked for."""
    asked = connection.url.path + (f"?{connection.url.query}" if connection.url.query else "")
    return f"/sign-in?next={quote(asked, safe='')}"


def local(path: str | None) -> str:
    """A path of this site; what would lead to another one is not followed."""
    try:
        parts = urlsplit(path or "/")
    except ValueError:
        return "/"
    given = path or "/"
    is_local = not parts.scheme and not parts.netloc and given.startswith("/") and not given.startswith("//")
    return given if is_local and given.isprintable() and "\\" not in given else "/"
