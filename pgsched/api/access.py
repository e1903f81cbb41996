"""Which requests are let in: each route declares a scope, and a request names no client but those of its key.

What is named by an id is for the database to find: another client's is not found.

A browser can be made to ask an address that only its own machine reaches. A page of a foreign origin may send a form
there, and one whose name was made to stand for the API's address (DNS rebinding) may read the answers, too. A browser
says where a request comes from, and it asks before it sends a header that no form has. So the API answers under the
names alone that it is known by, and takes no change from a foreign page.
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
"""The scope of a route for which no key is asked."""
SCOPE, EVERYWHERE, PAGE, FORM = "scope", "everywhere", "page", "form"
"""What a route's ``opt`` has of it: its scope, whether it concerns all clients, whether it is a page for people, and
whether that page is a form, or takes one."""
_KEPT_FORM = 400_000
"""Bytes of a form that are given back to who has to sign in again. Each of the 16,384 characters that a page takes of a
payload may be nine bytes of a form, and there are options beside it."""
Connection = ASGIConnection[Any, Any, Any, Any]
_ANY_ADDRESS = {"0.0.0.0", "::"}  # browsers take these for the machine that they run on
_NAME = re.compile(r"\*|[\w.-]+|[0-9a-f.]*:[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII)  # the last for version 6
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
_NEAR = frozenset({"same-origin", "none"})
_NO_FORMS = frozenset({"application/json", "application/x-ndjson"})
_OWN_HEADERS = ("authorization", "idempotency-key", "x-requested-with")


class Browsers:
    """The names under which the API answers; no page of another origin may ask it. Raises InvalidSettings."""

    def __init__(self, settings: Settings) -> None:
        self._hosts = {settings.host.lower(), *_names(settings.allowed_hosts)} - _ANY_ADDRESS

    def check(self, method: str, headers: Mapping[str, str]) -> None:
        """Raises Refused."""
        self._check_origin(headers)
        if method in SAFE:
            return
        if headers.get("sec-fetch-site", "none") not in _NEAR:
            raise Refused("a page of another site may not change anything here")
        is_json = headers.get("content-type", "").partition(";")[0].strip().lower() in _NO_FORMS
        if not is_json and not any(name in headers for name in _OWN_HEADERS):
            raise Refused(
                "a page of another site could have sent this: send Content-Type: application/json, or the header "
                "X-Requested-With with any value"
            )

    def check_page(self, method: str, headers: Mapping[str, str]) -> None:
        """Raises Refused. A form of ours is told from another site's by what the browser says of where it comes from; a
        request of which no browser says that changes nothing."""
        self._check_origin(headers)
        told = headers.get("sec-fetch-site", "same-origin" if "origin" in headers else None)
        if method not in SAFE and told != "same-origin":
            raise Refused("only the dashboard's own forms change something here; programs use the API under /v1")

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        if not self._answers_as(_name_of(host)):
            raise Refused(
                f"the API does not answer as {host[:100]!r}: use an address that it has, or set allowed_hosts"
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != host.lower():
            raise Refused(f"pages of {origin[:100]!r} may not ask the API, which answers as {host[:100]!r}")

    def _answers_as(self, name: str) -> bool:
        return "*" in self._hosts or name in self._hosts or is_loopback(name)


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
    """Raises Refused."""
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


def _names(text: str) -> set[str]:
    """Raises InvalidSettings for what no request can be addressed to."""
    names = {name.strip().lower() for name in text.split(",") if name.strip()}
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidSettings(
                f"allowed_hosts has {name[:80]!r}; write names alone, without scheme, port and path: pgsched.example"
            )
    return names


def _name_of(host: str) -> str:
    """Without the port; of an address of version 6, without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
