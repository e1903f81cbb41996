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
    execution's last checkpoint. A parameter named ``connection`` receives the psycopg AsyncConnection in whose
    transaction the completion is committed. A return value other than None is stored as the execution's result, unless
    the handler takes the connection.
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
        """Registers a function for the target ``python:name``. Only ``clients`` may use the handler; by default, all
        clients may. ``heartbeat`` is how long an attempt may run without reporting progress before it fails.

        Raises InvalidTarget for a name that no target can have. Raises InvalidInput for a name that is taken, for
        invalid clients, and for a function with parameters that pgsched cannot fill.
        """
        if not isinstance(name, str):
            raise InvalidInput(f'{name!r:.80} is not a handler name: write a string, as in @app.handler("send_email")')
        parse_target(f"{Scheme.PYTHON}:{name}")
        callers, seconds = checked_clients(clients), checked_heartbeat(heartbeat)

        def register(function: _F) -> _F:
            if name in self.handlers:
                raise InvalidInput(f"there is already a handler {name!r}: give this handler another name")
            self.handlers[name] = Handler(name, function, callers, self._around, seconds)
            return function

        return register

    def middleware(self, function: _M) -> _M:
        """Registers middleware: wraps every handler call in the context manager that the function returns for the
        call's Context. The middleware registered first is the outermost.

            @app.middleware
            @contextmanager
            def timed(context):
                begun = time.monotonic()
                try:
                    yield
                finally:
                    print(context.execution_id, time.monotonic() - begun)

        Async middleware wraps only async handlers. An exception raised by middleware counts as the handler's. If
        middleware suppresses the handler's exception, the handler has succeeded. Raises InvalidInput if the function
        does not return a context manager.
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
        """Declares a job, for ``pgsched apply``, that calls the function on a cron schedule. Write this decorator above
        ``handler``. Without ``handler``, the function becomes a handler with the function's name.

            @app.cron("30 2 * * *", timezone="Europe/Berlin", key="close-day")
            @app.handler("close_day")
            async def close_day(payload): ...

        The default key is the handler's name. Raises InvalidSchedule for an invalid schedule, and InvalidInput if the
        application has already declared a job with this key.
        """
        return self._declares(cron=expression, timezone=timezone, gap=gap, overlap=overlap, **terms)

    def every(self, interval: str | timedelta, **terms: Unpack[JobTerms]) -> Callable[[_F], _F]:
        """Declares a job like ``cron``, but with an interval such as ``"15m"``."""
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
        """Returns the name of the function's handler. Registers a function without a handler under its own name."""
        for name, handler in self.handlers.items():
            if handler.function == function:  # not "is": each access to a method creates a new object
                return name
        own: str = getattr(function, "__name__", None)  # type: ignore[assignment]  # handler() refuses None
        self.handler(own)(function)
        return own
