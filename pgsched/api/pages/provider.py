"""Signing in at a provider: there with what is to come back, and back with a code."""

from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.response import Redirect

from pgsched.api.access import PUBLIC, SCOPE, Browsers
from pgsched.api.authentication import Authentication
from pgsched.api.oidc_code_flow import PendingSignIn, SignIns
from pgsched.api.pages.rendering import HEADERS, html
from pgsched.api.pages.session import (
    BEGUN,
    LONGEST,
    cookie,
    cookie_in,
    cookie_name,
    is_secure,
    local,
)
from pgsched.api.request_reading import ApiRequest
from pgsched.errors import PgschedError, Refused, TooManyRequests, Unauthenticated, Unavailable

_PUBLIC: Any = {"opt": {SCOPE: PUBLIC}, "include_in_schema": False}
_RETURN = "/sign-in/return"


Offered = NamedDependency[SignIns]


@get("/sign-in/at", **_PUBLIC)
async def begin_sign_in(request: ApiRequest, browsers: NamedDependency[Browsers], providers: Offered) -> Response[Any]:
    """To the provider, under the name alone that the API answers by."""
    browsers.check_page(request.method, request.headers)
    issuer, next = request.query_params.get("issuer", ""), local(request.query_params.get("next"))
    try:
        begun, address = await providers.begin(issuer, next, _returns_to(request))
    except (Unauthenticated, Unavailable) as error:
        return _again(request, providers, next, error)
    return Redirect(address, status_code=303, headers=HEADERS, cookies=[cookie(request, begun.written(), BEGUN)])


@get(_RETURN, **_PUBLIC)
async def finish_sign_in(
    request: ApiRequest,
    browsers: NamedDependency[Browsers],
    authentication: NamedDependency[Authentication],
    providers: Offered,
) -> Response[Any]:
    """From the provider, to a page that leads on by itself."""
    browsers.check_page(request.method, request.headers)
    next = "/"
    try:
        begun = PendingSignIn.read(cookie_in(request, cookie_name(request, BEGUN)))
        next = local(begun.next)
        caller = request.client.host if request.client else ""
        token = await providers.finish(begun, dict(request.query_params), _returns_to(request), caller)
        if len(token) > LONGEST:
            raise Unauthenticated(
                f"the token is longer than the {LONGEST} characters that a browser keeps: ask for less"
            )
        grant = await authentication.grant(f"Bearer {token}", page=True)
    except (Unauthenticated, Unavailable, Refused, TooManyRequests) as error:
        return _again(request, providers, next, error)
    found = html(request, "signed_in.html", next=next, name=grant.subject)
    found.cookies += [cookie(request, token), cookie(request, "", BEGUN)]
    return found


def _again(request: ApiRequest, providers: SignIns, next: str, error: PgschedError) -> Response[Any]:
    status = 503 if isinstance(error, Unavailable) else 429 if isinstance(error, TooManyRequests) else 401
    found = html(request, "sign_in.html", status=status, next=next, fault=error, providers=providers.names)
    found.cookies.append(cookie(request, "", BEGUN))
    return found


def _returns_to(request: ApiRequest) -> str:
    """This API's address as the browser has it; that its name is one of ours was checked before."""
    return f"{'https' if is_secure(request) else 'http'}://{request.headers['host']}{_RETURN}"
