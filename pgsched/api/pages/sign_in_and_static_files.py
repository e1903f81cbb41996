"""The routes for sign-in (with a key or at a provider), for sign-out, and for the static files of all pages."""

from importlib.resources import files
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect

from pgsched.api.access import PUBLIC, SCOPE, Browsers
from pgsched.api.authentication import Authentication
from pgsched.api.oidc_code_flow import PendingSignIn, SignIns
from pgsched.api.pages.forms import read_form
from pgsched.api.pages.rendering import HEADERS, html
from pgsched.api.pages.session import BEGUN, LONGEST, cookie, cookie_in, cookie_name, is_secure, local
from pgsched.api.request_reading import ApiRequest
from pgsched.errors import NotFound, PgschedError, Refused, TooManyRequests, Unauthenticated, Unavailable

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FILES = ("style.css", "work.css", "htmx.min.js", "live.js", "icon.svg")
_PUBLIC: Any = {"opt": {SCOPE: PUBLIC}, "include_in_schema": False}
_LARGEST_FORM = 32_768  # bytes; small, because anybody can send this form
_RETURN = "/sign-in/return"
Offered = NamedDependency[SignIns]
_CACHED = {"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"}


@get("/sign-in", **_PUBLIC)
async def show_sign_in(request: ApiRequest, providers: Offered) -> Response[Any]:
    next = local(request.query_params.get("next"))
    return html(request, "sign_in.html", next=next, providers=providers.names)


@post("/sign-in", request_max_body_size=_LARGEST_FORM, **_PUBLIC)
async def sign_in(
    request: ApiRequest,
    authentication: NamedDependency[Authentication],
    browsers: NamedDependency[Browsers],
    providers: Offered,
) -> Response[Any]:
    """Signs a user in with a valid key. A form from another site is refused."""
    browsers.check_page(request.method, request.headers)
    form = await read_form(request)
    given, next = form.get("key", "").split(), local(form.get("next"))
    key = given[-1] if given else ""  # a user may have pasted the whole header
    try:
        if not (key.isascii() and key.isprintable()):
            raise Unauthenticated("this is not a valid key: a key has only letters, digits and underscores")
        if len(key) > LONGEST:
            raise Unauthenticated(f"this is longer than the {LONGEST} characters that a cookie can hold: use a key")
        await authentication.grant(f"Bearer {key}")
    except Unauthenticated as error:
        fault = Unauthenticated(str(error).partition(";")[0])
        return html(request, "sign_in.html", next=next, fault=fault, providers=providers.names)
    return Redirect(next, status_code=303, headers=HEADERS, cookies=[cookie(request, key)])


@get("/sign-in/at", **_PUBLIC)
async def begin_sign_in(request: ApiRequest, browsers: NamedDependency[Browsers], providers: Offered) -> Response[Any]:
    """Redirects to the provider. Refuses requests for a host name that is not the API's."""
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
    """Handles the return from the provider. The response is a page that redirects to the requested page."""
    browsers.check_page(request.method, request.headers)
    next = "/"
    try:
        begun = PendingSignIn.read(cookie_in(request, cookie_name(request, BEGUN)))
        next = local(begun.next)
        caller = request.client.host if request.client else ""
        token = await providers.finish(begun, dict(request.query_params), _returns_to(request), caller)
        if len(token) > LONGEST:
            raise Unauthenticated(
                f"the token is longer than the {LONGEST} characters that a cookie can hold: request fewer scopes"
            )
        grant = await authentication.grant(f"Bearer {token}", page=True)
    except (Unauthenticated, Unavailable, Refused, TooManyRequests) as error:
        return _again(request, providers, next, error)
    found = html(request, "signed_in.html", next=next, name=grant.subject)
    found.cookies += [cookie(request, token), cookie(request, "", BEGUN)]
    return found


def _again(request: ApiRequest, providers: SignIns, next: str, fault: PgschedError) -> Response[Any]:
    """Shows the sign-in page with an error, and deletes the pending sign-in."""
    status = 401 if isinstance(fault, Refused) else None
    found = html(request, "sign_in.html", status=status, next=next, fault=fault, providers=providers.names)
    found.cookies.append(cookie(request, "", BEGUN))
    return found


def _returns_to(request: ApiRequest) -> str:
    """Returns the return URL, with the host name that the browser uses, which was already checked."""
    return f"{'https' if is_secure(request) else 'http'}://{request.headers['host']}{_RETURN}"


@post("/sign-out", **_PUBLIC)
async def sign_out(request: ApiRequest, browsers: NamedDependency[Browsers]) -> Response[Any]:
    browsers.check_page(request.method, request.headers)
    return Redirect("/sign-in", status_code=303, headers=HEADERS, cookies=[cookie(request, "")])


@get("/static/{name:str}", **_PUBLIC)
async def show_file(name: FromPath[str]) -> Response[bytes]:
    if name not in _FILES:
        raise NotFound(f"there is no file {name[:50]!r}")
    content = files("pgsched.api.pages").joinpath("static", name).read_bytes()
    return Response(content, media_type=_KINDS[name.rpartition(".")[2]], headers=_CACHED)
