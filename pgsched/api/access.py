"""Decides which requests are admitted: each route declares a scope, and a request may name only clients of its key. If
a request names something by its id, the database checks access: another client's row is not found.

A page of any website can make the user's browser send a form to the API and, with DNS rebinding, read the response. So
the API responds only under its own host names, and refuses changes from pages of other origins.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from pgsched.api.authentication import Authentication
from pgsched.api.pages.forms import read_form
from pgsched.api.pages.session import header_of
from pgsched.domain.api_key import NOBODY, Grant
from pgsched.errors import InvalidSettings, PgschedError, Refused, Unauthenticated
from pgsched.settings import Settings, is_loopback

PUBLIC = "public"
"""The scope of a route that needs no key."""
SCOPE, EVERYWHERE, PAGE, FORM = "scope", "everywhere", "page", "form"
"""Keys of a route's ``opt``: the required scope, and flags for routes that require a key for all clients, for pages of
the dashboard, and for pages that show or accept a form."""
_KEPT_FORM = 400_000
"""The largest form, in bytes, that is returned to a user who has to sign in again: options, and a payload of up to
16,384 characters of up to nine bytes each."""
Connection = ASGIConnection[Any, Any, Any, Any]
_ANY_ADDRESS = {"0.0.0.0", "::"}  # browsers connect to the local machine for these
_NAME = re.compile(r"\*|[\w.-]+|[0-9a-f.]*:[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII)  # the last alternative is IPv6
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods without side effects."""
_NEAR = frozenset({"same-origin", "none"})
_NO_FORMS = frozenset({"application/json", "application/x-ndjson"})
_OWN_HEADERS = ("authorization", "idempotency-key", "x-requested-with")


class Browsers:
    """Refuses requests for a host name that is not the API's, and requests from pages of other origins. Raises
    InvalidSettings if ``allowed_hosts`` is invalid."""

    def __init__(self, settings: Settings) -> None:
        self._hosts = {settings.host.lower(), *_names(settings.allowed_hosts)} - _ANY_ADDRESS

    def check(self, method: str, headers: Mapping[str, str]) -> None:
        """Checks a request under ``/v1``. Raises Refused for a host that the API does not serve, for the origin of
        another site, and for a change that a page on another site could have sent."""
        self._check_origin(headers)
        if method in SAFE:
            return
        if headers.get("sec-fetch-site", "none") not in _NEAR:
            raise Refused("cross-site request refused: pages on other sites may only read")
        is_json = headers.get("content-type", "").partition(";")[0].strip().lower() in _NO_FORMS
        if not is_json and not any(name in headers for name in _OWN_HEADERS):
            raise Refused(
                "a page on another site could have sent this request: set its Content-Type to application/json, or add "
                "the header X-Requested-With with any value"
            )

    def check_page(self, method: str, headers: Mapping[str, str]) -> None:
        """Checks a request for a page, like ``check``. Raises Refused for a change, unless the headers show that a
        browser sent one of the dashboard's own forms."""
        self._check_origin(headers)
        told = headers.get("sec-fetch-site", "same-origin" if "origin" in headers else None)
        if method not in SAFE and told != "same-origin":
            raise Refused("only the dashboard's own forms can change anything here; programs use the API under /v1")

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        if not self._answers_as(_name_of(host)):
            raise Refused(
                f"the API does not serve the host {host[:100]!r}: use the API's own address, or add this host to "
                "allowed_hosts"
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != host.lower():
            raise Refused(f"pages from {origin[:100]!r} cannot call the API, whose host is {host[:100]!r}")

    def _answers_as(self, name: str) -> bool:
        return "*" in self._hosts or name in self._hosts or is_loopback(name)


class Guard:
    """Admits or refuses requests. With ``only_shown``, refuses all pages that show or accept a form."""

    def __init__(self, authentication: Authentication, browsers: Browsers, *, only_shown: bool = False) -> None:
        self._authentication, self._browsers, self._only_shown = authentication, browsers, only_shown

    async def admit(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """The guard of every route. Raises Unauthenticated, Refused, or PgschedError if the route has no scope."""
        scope = handler.opt.get(SCOPE)
        if scope is None:
            raise PgschedError(f"{handler} declares no scope")
        if scope == PUBLIC:  # these routes reveal nothing to other sites' pages
            return
        method, headers = str(connection.scope.get("method")), connection.headers
        if handler.opt.get(PAGE):
            self._browsers.check_page(method, headers)  # checked first, so that only our own forms are returned
            try:
                grant = await self._authentication.grant(header_of(connection), page=True)
            except Unauthenticated as error:
                raise SignedOut(str(error), await _form_of(connection, method)) from error
        else:
            grant = await self._authentication.grant(headers.get("authorization"))
            self._browsers.check(method, headers)
        check_scope(grant, scope, everywhere=bool(handler.opt.get(EVERYWHERE)))
        connection.scope["auth"] = grant
        if self._only_shown and handler.opt.get(FORM):
            raise Refused("the dashboard is read-only here: use the command line or the API")


def check_scope(grant: Grant, scope: str, *, everywhere: bool) -> None:
    """Raises Refused if the grant lacks the scope or, with ``everywhere``, does not cover all clients."""
    if scope not in grant.scopes:
        raise MissingScope(scope, f"this request needs a key with the scope {scope}")
    if everywhere:
        check_everywhere(grant)


def check_everywhere(grant: Grant) -> None:
    """Raises Refused if the grant does not cover all clients."""
    if grant.clients is not None:
        raise Refused(
            "this request concerns all clients, but the key is only for some of them: use a key for all clients"
        )


def grant_of(connection: Connection) -> Grant:
    """Returns the grant of an admitted request."""
    found: Grant = connection.scope.get("auth", NOBODY)
    return found


async def check_still(authentication: Authentication, connection: Connection) -> None:
    """Checks a long-running request's key again. Raises Unauthenticated if the key is no longer valid, and Refused if
    its grant has changed."""
    if await authentication.still(connection.headers.get("authorization")) != grant_of(connection):
        raise Refused("the key's scopes or clients have changed since the request began: send the request again")


def check_clients(grant: Grant, named: Iterable[Any]) -> None:
    """Raises Refused if the key does not cover all of the named clients, even if such a client does not exist."""
    for client in named:
        if isinstance(client, str) and not grant.is_for(client):
            known = ", ".join(sorted(grant.clients or ())[:10])
            raise Refused(f"the key is not for the client {client[:100]!r}: name one of the key's clients ({known})")


class MissingScope(Refused):
    """The key lacks a scope."""

    def __init__(self, scope: str, detail: str) -> None:
        super().__init__(detail)
        self.scope = scope


class SignedOut(Unauthenticated):
    """A page was requested without a valid key. ``form`` is the submitted form, or None if there is none or it is too
    large."""

    def __init__(self, detail: str, form: dict[str, str] | None) -> None:
        super().__init__(detail)
        self.form = form


async def _form_of(connection: Connection, method: str) -> dict[str, str] | None:
    length = connection.headers.get("content-length", "")
    if method != "POST" or not (length.isdecimal() and len(length) < 7 and int(length) <= _KEPT_FORM):
        return None
    assert isinstance(connection, Request)
    return await read_form(connection)


def _names(text: str) -> set[str]:
    """Parses ``allowed_hosts``. Raises InvalidSettings for an entry that is not a host name."""
    names = {name.strip().lower() for name in text.split(",") if name.strip()}
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidSettings(
                f"allowed_hosts contains {name[:80]!r}: write host names without scheme, port or path, such as "
                "pgsched.example"
            )
    return names


def _name_of(host: str) -> str:
    """Returns a host without its port, and without the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
