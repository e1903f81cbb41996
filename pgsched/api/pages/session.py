"""Who looks: the key that somebody has signed in with, in a cookie that no script gets, and no form of another site.

The cookie is the key itself, or the token that a provider has given. So any process can check it as it checks what
comes in a header, it is worth nothing within a second of its end, and no list of sessions has to be kept. The browser
sends it to pages alone: under ``/v1`` only the header counts.
"""

from typing import Any
from urllib.parse import quote, unquote, urlsplit

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie

COOKIE = "pgsched_key"
BEGUN = "pgsched_sign_in"
"""The cookie of a browser that is at a provider to sign in."""
_KEPT, _AWAY = 12 * 3600, 600
LONGEST = 3_800
"""Characters of a key or token for which browsers have room in a cookie."""
_LONGEST_PATH = 2_000  # that of a sign-in which has begun is in a cookie, too


def header_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """The key as a header would have it."""
    key = cookie_in(connection, cookie_name(connection, COOKIE))
    return f"Bearer {key}" if key else None


def cookie_in(connection: ASGIConnection[Any, Any, Any, Any], name: str) -> str:
    """A cookie of ours, which has no character that would have to be quoted. To take the quotes off those of others,
    as libraries do, takes the square of their length."""
    said = ""
    for one in connection.headers.get("cookie", "").split(";"):
        found, _, value = one.partition("=")
        if found.strip() == name:
            said = value.strip()
    return said


def cookie(request: Request[Any, Any, Any], value: str, name: str = COOKIE) -> Cookie:
    """Keeps a key for half a day, or for ten minutes what a sign-in began with; an empty value forgets it."""
    secure, kept = is_secure(request), _KEPT if name == COOKIE else _AWAY
    return Cookie(
        key=cookie_name(request, name),
        value=value,
        max_age=kept if value else 0,
        httponly=True,
        secure=secure,
        samesite="lax",  # a link in a mail or an alert leads to the page; forms of other sites are refused
        path="/" if secure or name == COOKIE else "/sign-in",
    )


def cookie_name(connection: ASGIConnection[Any, Any, Any, Any], name: str) -> str:
    """A cookie as it is called over TLS, where no other host of the domain, and nobody on the way, can set one of that
    name; over plain HTTP browsers take no such name."""
    return f"__Host-{name}" if is_secure(connection) else name


def is_secure(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Whether the browser has come over TLS, to here or to a proxy."""
    return connection.url.scheme == "https" or connection.headers.get("x-forwarded-proto") == "https"


def sign_in_url(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Where to sign in, and from there back to the page that was asked for; of a part of a page or a form, to the page
    that it is of."""
    headers, page = connection.headers, str(connection.url)
    if "hx-request" in headers:
        page = headers.get("hx-current-url", "/")
    elif connection.scope.get("method") != "GET":
        page = headers.get("referer", "/")
    try:
        parts = urlsplit(page)
    except ValueError:
        parts = urlsplit("/")
    query = "&".join(one for one in parts.query.split("&") if one.partition("=")[0] != "done")
    return f"/sign-in?next={quote(local(f'{parts.path}?{query}' if query else parts.path), safe='')}"


def local(path: str | None) -> str:
    """A path of this site; what would lead to another one, or to signing in or out once more, is not followed."""
    try:
        parts = urlsplit(path or "/")
    except ValueError:
        return "/"
    given = path or "/"
    is_local = not parts.scheme and not parts.netloc and given.startswith("/") and not given.startswith("//")
    is_plain = given.isprintable() and "\\" not in given and len(given) <= _LONGEST_PATH
    return given if is_local and is_plain and not unquote(parts.path).startswith(("/sign-in", "/sign-out")) else "/"
