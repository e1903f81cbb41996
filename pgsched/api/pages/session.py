"""The session of a dashboard user: a cookie with the key, or the provider's token, that the user signed in with.

Any process can check the cookie, and the cookie becomes useless within a second after its key becomes invalid, so no
list of sessions is needed. Scripts and other sites' forms cannot use the cookie, and routes under ``/v1`` do not accept
it.
"""

from typing import Any
from urllib.parse import quote, unquote, urlsplit

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie

COOKIE = "pgsched_key"
BEGUN = "pgsched_sign_in"
"""The name of the cookie for a pending sign-in at a provider."""
_KEPT, _AWAY = 12 * 3600, 600
LONGEST = 3_800
"""The maximum length of a key or token, in characters. A longer one might not fit into a cookie."""
_LONGEST_PATH = 2_000  # a pending sign-in also keeps the path in its cookie


def header_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """The key from the cookie, as an Authorization header."""
    key = cookie_in(connection, cookie_name(connection, COOKIE))
    return f"Bearer {key}" if key else None


def cookie_in(connection: ASGIConnection[Any, Any, Any, Any], name: str) -> str:
    """Returns the value of one of our cookies, which are not quoted. A library would unquote all cookies, in time
    quadratic in their length."""
    said = ""
    for one in connection.headers.get("cookie", "").split(";"):
        found, _, value = one.partition("=")
        if found.strip() == name:
            said = value.strip()
    return said


def cookie(request: Request[Any, Any, Any], value: str, name: str = COOKIE) -> Cookie:
    """Returns a cookie that keeps a key for half a day, or a pending sign-in for ten minutes. An empty value deletes
    the cookie."""
    secure, kept = is_secure(request), _KEPT if name == COOKIE else _AWAY
    return Cookie(
        key=cookie_name(request, name),
        value=value,
        max_age=kept if value else 0,
        httponly=True,
        secure=secure,
        samesite="lax",  # links in mail and alerts must work; other sites' forms are refused elsewhere
        path="/" if secure or name == COOKIE else "/sign-in",
    )


def cookie_name(connection: ASGIConnection[Any, Any, Any, Any], name: str) -> str:
    """Returns the full name of a cookie. Over TLS, it has the prefix ``__Host-``, so that neither other hosts of the
    domain nor an attacker on the network can set the cookie. Over plain HTTP, browsers refuse this prefix."""
    return f"__Host-{name}" if is_secure(connection) else name


def is_secure(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Whether the browser uses TLS to connect to this API, or to a proxy in front of it."""
    return connection.url.scheme == "https" or connection.headers.get("x-forwarded-proto") == "https"


def sign_in_url(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Returns the URL for signing in and then returning to the requested page. After a request for a part of a page, or
    a form, the user returns to the whole page."""
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
    """Returns the path if it is on this site and not for sign-in or sign-out, otherwise ``/``."""
    try:
        parts = urlsplit(path or "/")
    except ValueError:
        return "/"
    given = path or "/"
    is_local = not parts.scheme and not parts.netloc and given.startswith("/") and not given.startswith("//")
    is_plain = given.isprintable() and "\\" not in given and len(given) <= _LONGEST_PATH
    return given if is_local and is_plain and not unquote(parts.path).startswith(("/sign-in", "/sign-out")) else "/"
