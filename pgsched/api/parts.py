"""The objects that live as long as the application: the connection pool, the guard, and others that requests share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from litestar import Litestar, Request
from litestar.di import Provide

from pgsched.api.access import Browsers, Guard, grant_of
from pgsched.api.authentication import Authentication
from pgsched.api.connection_pool import Database
from pgsched.api.doctor import doctor
from pgsched.api.group_commit import GroupCommit, Intake
from pgsched.api.long_polls import LongPolls
from pgsched.api.metrics import Metrics
from pgsched.api.middleware import RequestCounts
from pgsched.api.oidc_code_flow import SignIns
from pgsched.api.pages.forecast import hour_forecast
from pgsched.api.pages.now_snapshot import LiveView
from pgsched.api.pages.rendering import compile_templates
from pgsched.api.pages.throughput import ThroughputCharts
from pgsched.api.parameters import actor
from pgsched.api.shared_event_reader import Feed
from pgsched.domain.api_key import EVERYBODY
from pgsched.extras import extra
from pgsched.optional_tracing import recording
from pgsched.sealing import KeyRing
from pgsched.settings import Settings, is_loopback
from pgsched.telemetry import Events

if TYPE_CHECKING:
    from pgsched.api.provider_tokens import BearerTokens


class Parts:
    """The shared objects, built from the settings. The constructor raises InvalidSettings if the settings are
    invalid."""

    def __init__(self, settings: Settings, database_url: str, events: Events, *, wait: float) -> None:
        self._database = database = Database(database_url, events, wait=wait)
        everything = database.acting(EVERYBODY)
        self.has_pages = settings.dashboard != "off"
        self.is_read_only = settings.dashboard == "read-only"
        bearer = _tokens(settings, events)
        authentication = Authentication(database, is_open=is_loopback(settings.host), bearer=bearer)
        browsers = Browsers(settings)
        self.guard = Guard(authentication, browsers, only_shown=self.is_read_only)
        self._group_commit, self._spans = GroupCommit(), recording(settings, "pgsched-api")
        self.feed, self.requests = Feed(database, events), RequestCounts()
        ring = KeyRing.parse(settings.secret_keys)
        self._doctor = doctor(everything, database_url, ring)
        self._shared = {
            "long_polls": LongPolls(database_url, everything, events),
            "holders": everything,
            "ring": ring,
            "doctor": self._doctor,
            "metrics": Metrics(everything, self._doctor, self.requests),
            "feed": self.feed,
            "browsers": browsers,
            "live": LiveView(everything),
            "throughput": ThroughputCharts(everything),
            "forecast": hour_forecast(everything),
            "providers": SignIns(bearer),
            "authentication": authentication,
        }

    def dependencies(self) -> dict[str, Provide]:
        """The dependencies of routes, by parameter name."""
        of_each = {"database": self.acting, "intake": self._taking_in, "actor": actor}
        found = {name: Provide(make, sync_to_thread=False) for name, make in of_each.items()}
        return found | {name: _always(part) for name, part in self._shared.items()}

    @asynccontextmanager
    async def living(self, _: Litestar) -> AsyncIterator[None]:
        """The application's lifespan: opens the connection pool, and closes everything at the end."""
        await self._database.open()
        compiled = asyncio.create_task(asyncio.to_thread(compile_templates)) if self.has_pages else None
        try:
            yield
        finally:
            await self.feed.stop()
            await self._doctor.stop()
            await self._database.close()
            if self._spans is not None:
                await asyncio.to_thread(self._spans.close)
            if compiled is not None:
                await compiled

    def acting(self, request: Request[Any, Any, Any]) -> Database:
        """Returns the database, acting for the clients of the request's key."""
        return self._database.acting(grant_of(request))

    def _taking_in(self, request: Request[Any, Any, Any]) -> Intake:
        span = None if self._spans is None else self._spans.scheduling
        return Intake(self.acting(request), self._group_commit, span)


def _always(part: object) -> Provide:
    return Provide(lambda: part, sync_to_thread=False)


def _tokens(settings: Settings, events: Events) -> "BearerTokens | None":
    """Returns the verifier of providers' tokens, or None if the settings name no provider."""
    if not settings.takes_tokens:
        return None
    with extra("oidc", by="oidc"):
        from pgsched.api.provider_tokens import BearerTokens
    return BearerTokens(settings, events)
