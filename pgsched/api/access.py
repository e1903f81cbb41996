"""Which requests are let in: each route declares a scope, and a request names no client but those of its key.

What is named by an id is for the database to find: another client's is not found.
"""

from collections.abc import Iterable
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from pgsched.api.authentication import Authentication
from pgsched.api.browsers import Browsers
from pgsched.api.pages.forms import read_form
from pgsched.api.pages.session import header_of
from pgsched.domain.api_key import NOBODY, Grant
from pgsched.errors import PgschedError, Refused, Unauthenticated

PUBLIC = "public"
"""The scope of a route for which no key is asked."""
SCOPE, EVERYWHERE, PAGE, FORM = "scope", "everywhere", "page", "form"
"""What a route's ``opt`` has of it: its scope, whether it concerns all clients, whether it is a page for people, and
whether that page is a form, or takes one."""
_KEPT_FORM = 400_000
"""Bytes of a form that are given back to who has to sign in again. Each of the 16,384 characters that a page takes of a
payload may be nine bytes of a form, and there are options beside it."""
Connection = ASGIConnection[Any, Any, Any, Any]


class Guard:
    """Lets a request in, or raises what it is refused with. With ``only_shown`` it refuses every form of a page."""

    def __init__(self, authentication: Authentication, browsers: Browsers, *, only_shown: bool = False) -> None:
        self._authentication, self._browsers, self._only_shown = authentication, browsers, only_shown

    async def admit(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """The guard of every route. Raises Unauthenticated, Refused; PgschedError where a route has no scope."""
        scope = handler.opt.get(SCOPE)
        if scope is None:
            raise PgschedError(f"{handler} declares no scope")
        if scope == PUBLIC:  # it tells nothing that a page of another site could not know
            return
        method, headers = str(connection.scope.get("method")), connection.headers
        if handler.opt.get(PAGE):
            self._browsers.check_page(method, headers)  # before all: a form that is given back is one of ours
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
    """Raises Refused."""
    if scope not in grant.scopes:
        raise MissingScope(scope, f"this needs a key with the scope {scope}")
    if everywhere:
        check_everywhere(grant)


def check_everywhere(grant: Grant) -> None:
    """Raises Refused. What is looked up once for all who ask calls it, too: there no session is held to the clients of
    a key."""
    if grant.clients is not None:
        raise Refused("this concerns all clients, and the key is for some: use one for all clients")


def grant_of(connection: Connection) -> Grant:
    """What the sender of a request that was let in may do."""
    found: Grant = connection.scope.get("auth", NOBODY)
    return found


async def check_still(authentication: Authentication, connection: Connection) -> None:
    """For what goes on for a while after it was let in. Raises Unauthenticated where the key is worth nothing by now,
    and Refused where it is worth something else."""
    if await authentication.still(connection.headers.get("authorization")) != grant_of(connection):
        raise Refused("what the key is for was changed meanwhile: ask again")


def check_clients(grant: Grant, named: Iterable[Any]) -> None:
    """Raises Refused where a client is named that the key is not for, whether there is such a client or not."""
    for client in named:
        if isinstance(client, str) and not grant.is_for(client):
            known = ", ".join(sorted(grant.clients or ())[:10])
            raise Refused(f"the key is not for the client {client[:100]!r}: name one that it is for ({known})")


class MissingScope(Refused):
    """The key lacks a scope."""

    def __init__(self, scope: str, detail: str) -> None:
        super().__init__(detail)
        self.scope = scope


class SignedOut(Unauthenticated):
    """A page was asked for without a key that is valid; ``form`` is what was sent to it, None where that is nothing or
    too much to give back."""

    def __init__(self, detail: str, form: dict[str, str] | None) -> None:
        super().__init__(detail)
        self.form = form


async def _form_of(connection: Connection, method: str) -> dict[str, str] | None:
    length = connection.headers.get("content-length", "")
    if method != "POST" or not (length.isdecimal() and len(length) < 7 and int(length) <= _KEPT_FORM):
        return None
    assert isinstance(connection, Request)
    return await read_form(connection)
