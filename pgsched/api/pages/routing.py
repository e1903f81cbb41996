"""Declares the routes of pages. As under ``/v1``, each route has a scope. The key comes from the cookie, and errors are
shown as pages."""

from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from litestar import Request, Response, get, post
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect

from pgsched.api.access import EVERYWHERE, FORM, PAGE, SCOPE, SignedOut
from pgsched.api.pages.rendering import HEADERS, html
from pgsched.api.pages.session import local, sign_in_url
from pgsched.api.problems import Unreadable, status_of
from pgsched.domain.api_key import Scope
from pgsched.errors import PgschedError, Unauthenticated

_Method = TypeVar("_Method", bound=HTTPRouteHandler)


def _route(
    method: type[_Method], path: str, *, scope: Scope, everywhere: bool = False, form: bool = False, **more: Any
) -> _Method:
    opt = {SCOPE: scope, EVERYWHERE: everywhere, PAGE: True, FORM: form}
    return method(path, opt=opt, include_in_schema=False, media_type="text/html", **more)


shows = partial(_route, get)
"""Declares a page. ``form`` marks a page that exists for its form, which a read-only dashboard refuses."""
does = partial(_route, post, status_code=303, form=True)
"""Declares the action of a form, which responds with a redirect to a page."""


def done(where: str, what: str, *, changed: bool = True) -> Redirect:
    """Redirects to a page, which shows what was done, or that nothing has changed."""
    said = what if changed else "nothing"
    return Redirect(f"{where}{'&' if '?' in where else '?'}done={said}", status_code=303, headers=HEADERS)


def client_page(client: str) -> str:
    """The URL of a client's page."""
    return f"/client?name={quote(client, safe='')}"


def check_unchanged(read: str, there: str) -> None:
    """Raises Unreadable (412) if the form was filled with a version, ``read``, that is no longer current."""
    if read != there:
        raise Unreadable("this has changed since the form was loaded: start again with the current values", status=412)


def refused(request: Request[Any, Any, Any], error: PgschedError) -> Response[Any]:
    """Shows a PgschedError as a page or a part of a page. Redirects to the sign-in if a key is needed."""
    is_part = "hx-request" in request.headers
    if isinstance(error, Unauthenticated) and is_part:
        return Response("", status_code=401, headers=HEADERS | {"HX-Redirect": sign_in_url(request)})
    if isinstance(error, SignedOut) and error.form is not None:
        return html(request, "signed_out.html", status=401, to=local(request.url.path), form=error.form)
    if isinstance(error, Unauthenticated):
        return Redirect(sign_in_url(request), status_code=303, headers=HEADERS)
    template = "refused_part.html" if is_part else "refused.html"
    return html(request, template, status=status_of(error), detail=str(error))


def refused_by_litestar(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """Shows an error that Litestar raised."""
    return html(request, "refused.html", status=error.status_code, detail=error.detail)
