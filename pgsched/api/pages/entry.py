"""Signing in and out, and the files that all pages have."""

from importlib.resources import files
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Redirect

from pgsched.api.access import PUBLIC, SCOPE, Browsers
from pgsched.api.authentication import Authentication
from pgsched.api.pages.forms import read_form
from pgsched.api.pages.provider import Offered
from pgsched.api.pages.rendering import HEADERS, html
from pgsched.api.pages.session import LONGEST, cookie, local
from pgsched.api.request_reading import ApiRequest
from pgsched.errors import NotFound, Unauthenticated

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FILES = ("style.css", "work.css", "htmx.min.js", "live.js", "icon.svg")
_PUBLIC: Any = {"opt": {SCOPE: PUBLIC}, "include_in_schema": False}
_LARGEST_FORM = 32_768  # bytes: anybody may send it
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
    """Keeps the key if it is one. The form of another site signs nobody in."""
    browsers.check_page(request.method, request.headers)
    form = await read_form(request)
    given, next = form.get("key", "").split(), local(form.get("next"))
    key = given[-1] if given else ""  # the whole header may have been pasted
    try:
        if not (key.isascii() and key.isprintable()):
            raise Unauthenticated("this is no key: it has letters, digits and underscores alone")
        if len(key) > LONGEST:
            raise Unauthenticated(f"this is longer than the {LONGEST} characters that a browser keeps: use a key")
        await authentication.grant(f"Bearer {key}")
    except Unauthenticated as error:
        fault = Unauthenticated(str(error).partition(";")[0])
        return html(request, "sign_in.html", next=next, fault=fault, providers=providers.names)
    return Redirect(next, status_code=303, headers=HEADERS, cookies=[cookie(request, key)])


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
