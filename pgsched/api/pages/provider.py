"""Signing in at a provider: there with what is to come back, and back with a code."""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.response import Redirect

from pgsched.api.access import PUBLIC, SCOPE, Browsers
from pgsched.api.authentication import Authentication
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """What a browser keeps until it comes back from the provider."""

    issuer: str
    state: str
    nonce: str
    verifier: str
    next: str

    @classmethod
    def at(cls, issuer: str, next: str) -> "PendingSignIn":
        state, nonce = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        return cls(issuer=issuer, state=state, nonce=nonce, verifier=secrets.token_urlsafe(48), next=next)

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")

    def written(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(asdict(self))).decode()

    @classmethod
    def read(cls, text: str | None) -> "PendingSignIn":
        """Raises Unauthenticated for what was not written here."""
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(text or ""), type=cls)
        except (ValueError, msgspec.DecodeError):
            raise Unauthenticated(
                "this sign-in was not begun here, or longer than ten minutes ago: begin again"
            ) from None


class Providers:
    """Where people sign in: nowhere, but with a key. ``api.oidc_code_flow`` has those of the setting ``oidc``."""

    @property
    def names(self) -> dict[str, str]:
        """What the buttons say, by issuer."""
        return {}

    async def begin(self, issuer: str, next: str, returns_to: str) -> tuple[PendingSignIn, str]:
        """What the browser is to keep, and where it goes. Raises Unauthenticated for an issuer at which nobody signs
        in, and Unavailable."""
        raise Unauthenticated("nobody signs in at a provider here")

    async def finish(self, begun: PendingSignIn, answer: Mapping[str, str], returns_to: str, caller: str) -> str:
        """The identity token of who has signed in, from the address ``caller``. Raises Unauthenticated, Unavailable;
        TooManyRequests for a caller of whom the provider would be asked too often."""
        raise Unauthenticated("nobody signs in at a provider here")


Offered = NamedDependency[Providers]


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


def _again(request: ApiRequest, providers: Providers, next: str, error: PgschedError) -> Response[Any]:
    status = 503 if isinstance(error, Unavailable) else 429 if isinstance(error, TooManyRequests) else 401
    found = html(request, "sign_in.html", status=status, next=next, fault=error, providers=providers.names)
    found.cookies.append(cookie(request, "", BEGUN))
    return found


def _returns_to(request: ApiRequest) -> str:
    """This API's address as the browser has it; that its name is one of ours was checked before."""
    return f"{'https' if is_secure(request) else 'http'}://{request.headers['host']}{_RETURN}"
