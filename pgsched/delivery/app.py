"""``App``: the Python functions that an application's workers call, and the jobs that it declares."""

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

    A handler takes nothing, the payload, or the payload and a Context. A parameter named ``checkpoint`` receives the
    execution's last checkpoint; one named ``connection``, the psycopg AsyncConnection on which its completion is
    committed. The return value, unless it is None, is stored as the execution's result. If the handler takes the
    connection, its return value is ignored.
    """

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        self.declared: list[DeclaredJob] = []
        self._around: list[Middleware] = []

    @property
    def capabilities(self) -> frozenset[str]:
        """The capabilities that a worker needs to call these handlers."""
        return frozenset(map(handler_of, self.handlers))

    def handler(
        self, name: str, *, clients: Iterable[str] | None = None, heartbeat: timedelta | None = None
    ) -> Callable[[_F], _F]:
        """Registers a function for the target ``python:name``. Only these clients may use it, or all if ``clients`` is
        left out. With a ``heartbeat``, an attempt that reports no progress for that long fails.

        Raises InvalidTarget for a name that no target can have, and InvalidInput for a name that is taken, for invalid
        clients, and for a function with parameters that cannot be filled.
        """
        if not isinstance(name, str):
            raise InvalidInput(f'{name!r:.80} is not a handler name: write one, as in @app.handler("send_email")')
        parse_target(f"{Scheme.PYTHON}:{name}")
        callers, seconds = checked_clients(clients), checked_heartbeat(heartbeat)

        def register(function: _F) -> _F:
            if name in self.handlers:
                raise InvalidInput(f"there is already a handler {name!r}: give this one another name")
            self.handlers[name] = Handler(name, function, callers, self._around, seconds)
            return function

        return register

    def middleware(self, function: _M) -> _M:
        """Wraps every handler call in the context manager that this function returns for the handler's Context. The
        first one registered is the outermost.

            @app.middleware
            @contextmanager
            def timed(context):
                begun = time.monotonic()
                try:
                    yield
                finally:
                    print(context.execution_id, time.monotonic() - begun)

        Async middleware only wraps async handlers. An exception that middleware raises counts as the handler's. If
        middleware suppresses the handler's exception, the handler has succeeded. Raises InvalidInput if the function
        does not return context managers.
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
        """Declares a job that calls the function on a cron schedule, for ``pgsched apply``. Write it above ``handler``;
        without ``handler``, the handler is named after the function.

            @app.cron("30 2 * * *", timezone="Europe/Berlin", key="close-day")
            @app.handler("close_day")
            async def close_day(payload): ...

        The default key is the handler's name. Raises InvalidSchedule for an invalid schedule, and InvalidInput if the
        application declares another job with this key.
        """
        return self._declares(cron=expression, timezone=timezone, gap=gap, overlap=overlap, **terms)

    def every(self, interval: str | timedelta, **terms: Unpack[JobTerms]) -> Callable[[_F], _F]:
        """Like ``cron``, but at an interval such as ``"15m"``."""
        return self._declares(every=interval, **terms)

    def _declares(self, **given: Any) -> Callable[[_F], _F]:
        if callable(given.get("cron") or given.get("every")):
            raise InvalidInput(
                '@app.cron and @app.every need a schedule: write @app.cron("30 2 * * *") or @app.every("15m")'
            )

        def declare(function: _F) -> _F:
            name = self._name_of(function)
            job = DeclaredJob(**{"key": name, "target": f"{Scheme.PYTHON}:{name}"} | given)
            self.declared = checked([*self.declared, job])
            return function

        return declare

    def _name_of(self, function: Callable[..., Any]) -> str:
        """The function's handler name. If the function is not a handler, it is registered under its own name."""
        for name, handler in self.handlers.items():
            if handler.function == function:  # equality, because each access to a method makes a new object
                return name
        own: str = getattr(function, "__name__", None)  # type: ignore[assignment]  # handler() refuses None
        self.handler(own)(function)
        return own
