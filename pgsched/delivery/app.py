"""``App``: the Python functions that an application's workers call, and the jobs that it declares beside them."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar, Unpack

from pgsched.delivery.handler_call import Handler, checked_clients, checked_heartbeat
from pgsched.delivery.middleware import Middleware, is_async
from pgsched.domain.capability import handler_of
from pgsched.domain.declared_job import DeclaredJob, JobTerms, checked
from pgsched.domain.target import Scheme, parse_target
from pgsched.errors import InvalidInput

_F = TypeVar("_F", bound=Callable[..., Any])
_M = TypeVar("_M", bound=Middleware)


class App:
    """The handlers that an application's workers serve.

        app = pgsched.App()

        @app.handler("send_email")
        async def send_email(payload, context):
            ...

    A handler takes nothing, the payload, or the payload and a Context; by the name ``checkpoint``, the last one that
    this execution has kept; and by the name ``connection``, the psycopg AsyncConnection on which its completion
    commits. What it returns is kept as the execution's result, if it is not None; the work of one that took the
    connection is its result.
    """

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        self.declared: list[DeclaredJob] = []
        self._around: list[Middleware] = []

    @property
    def capabilities(self) -> frozenset[str]:
        """What a worker needs to call these handlers."""
        return frozenset(map(handler_of, self.handlers))

    def handler(
        self, name: str, *, clients: Iterable[str] | None = None, heartbeat: timedelta | None = None
    ) -> Callable[[_F], _F]:
        """Registers a function for the target ``python:name``, which these clients may have called; all where they are
        left out. With a ``heartbeat`` an attempt has failed that tells of no progress for so long.

        Raises InvalidTarget for a name no target can have, and InvalidInput for one that is taken, for clients that
        are none, and for a function that asks for what it cannot be given.
        """
        if not isinstance(name, str):
            raise InvalidInput(f'{name!r:.80} is no name of a handler: write one, as in @app.handler("send_email")')
        parse_target(f"{Scheme.PYTHON}:{name}")
        callers, seconds = checked_clients(clients), checked_heartbeat(heartbeat)

        def register(function: _F) -> _F:
            if name in self.handlers:
                raise InvalidInput(f"there is a handler {name!r} already: give this one another name")
            self.handlers[name] = Handler(name, function, callers, self._around, seconds)
            return function

        return register

    def middleware(self, function: _M) -> _M:
        """Has every handler called within the context manager that the function makes of its Context; the first
        registered is the outermost.

            @app.middleware
            @contextmanager
            def timed(context):
                begun = time.monotonic()
                try:
                    yield
                finally:
                    print(context.execution_id, time.monotonic() - begun)

        One that is async is around async handlers alone. What one raises counts as raised by the handler; where one
        keeps back what the handler raised, that has succeeded. Raises InvalidInput for what makes no context
        managers.
        """
        is_async(function)
        self._around.append(function)
        for handler in self.handlers.values():
            handler.wants_nothing = False
        return function

    def cron(
        self,
        expression: str,
        *,
        timezone: str | None = None,
        gap: str | None = None,
        overlap: str | None = None,
        **terms: Unpack[JobTerms],
    ) -> Callable[[_F], _F]:
        """Declares a job that calls the function by a cron expression, for ``pgsched apply``. Written above
        ``handler``; without one the handler has the function's name.

            @app.cron("30 2 * * *", timezone="Europe/Berlin", key="close-day")
            @app.handler("close_day")
            async def close_day(payload): ...

        The key is the handler's name unless it is given. Raises InvalidSchedule for what makes no schedule, and
        InvalidInput where the application declares another job under this key.
        """
        return self._declares(cron=expression, timezone=timezone, gap=gap, overlap=overlap, **terms)

    def every(self, interval: str | timedelta, **terms: Unpack[JobTerms]) -> Callable[[_F], _F]:
        """The same at an interval, such as ``"15m"``."""
        return self._declares(every=interval, **terms)

    def _declares(self, **given: Any) -> Callable[[_F], _F]:
        if callable(given.get("cron") or given.get("every")):
            raise InvalidInput('give the schedule, and then the function: @app.cron("30 2 * * *") or @app.every("15m")')

        def declare(function: _F) -> _F:
            name = self._name_of(function)
            job = DeclaredJob(**{"key": name, "target": f"{Scheme.PYTHON}:{name}"} | given)
            self.declared = checked([*self.declared, job])
            return function

        return declare

    def _name_of(self, function: Callable[..., Any]) -> str:
        """The name of the handler; the function becomes one by its own name if it is none."""
        for name, handler in self.handlers.items():
            if handler.function == function:  # a method is made anew each time
                return name
        own: str = getattr(function, "__name__", None)  # type: ignore[assignment]  # it is refused by handler
        self.handler(own)(function)
        return own
