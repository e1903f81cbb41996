"""All errors of pgsched.

    PgschedError
    ├── InvalidInput                 the request is invalid; the message says what to write
    │   ├── InvalidTarget            pgsched.invalid_target       PS001
    │   ├── InvalidSchedule          pgsched.invalid_schedule     PS002
    │   ├── InvalidPayload           pgsched.invalid_payload      PS003
    │   ├── InvalidOptions           pgsched.invalid_options      PS004
    │   └── InvalidSettings          pgsched.invalid_settings
    ├── NotFound                     pgsched.not_found            PS010
    ├── Conflict                     pgsched.conflict             PS011  the row's state does not allow it
    ├── Refused                      pgsched.refused              PS012  the caller may not do it
    ├── Unauthenticated              pgsched.unauthenticated      the API was given no key, or an invalid one
    ├── StaleLease                   pgsched.stale_lease          PS013  leased by another; the result does not count
    ├── QueueFull                    pgsched.queue_full           PS014  the queue has reached its max_waiting
    ├── TooManyRequests              pgsched.too_many_requests    the key has exceeded its rate limit
    ├── SchemaMismatch               pgsched.schema_mismatch      the database is not at this release's schema
    ├── Unavailable                  pgsched.unavailable          the database cannot be reached
    └── EmbeddedPostgresError        pgsched.embedded_postgres    the embedded server cannot be used or started

Each class has a stable ``code`` (in logs, problem documents and ``--json`` output) and, if the database can raise it,
its ``sqlstate``. ``error_for_sqlstate`` finds the class for a SQLSTATE.
"""

from typing import ClassVar


class PgschedError(Exception):
    """The base class of all errors that pgsched raises on purpose."""

    code: ClassVar[str] = "pgsched.error"
    sqlstate: ClassVar[str | None] = None


class InvalidInput(PgschedError, ValueError):
    """The request is invalid; the message says what to write instead."""

    code = "pgsched.invalid_input"
    sqlstate: ClassVar[str | None] = "PS000"


class InvalidTarget(InvalidInput):
    """The target is not one of the URIs pgsched can call."""

    code = "pgsched.invalid_target"
    sqlstate = "PS001"


class InvalidSchedule(InvalidInput):
    """The instant, expression, interval or time zone is not valid."""

    code = "pgsched.invalid_schedule"
    sqlstate = "PS002"


class InvalidPayload(InvalidInput):
    """The payload is not JSON, or it is too large."""

    code = "pgsched.invalid_payload"
    sqlstate = "PS003"


class InvalidOptions(InvalidInput):
    """A delivery option is unknown or out of range."""

    code = "pgsched.invalid_options"
    sqlstate = "PS004"


class InvalidSettings(InvalidInput):
    """A flag, environment variable or line of ``pgsched.toml`` cannot be used."""

    code = "pgsched.invalid_settings"
    sqlstate = None


class NotFound(PgschedError):
    """There is no such job, execution, client or queue, or the caller may not see it."""

    code = "pgsched.not_found"
    sqlstate = "PS010"


class Conflict(PgschedError):
    """The state of the job or execution does not allow this."""

    code = "pgsched.conflict"
    sqlstate = "PS011"


class Refused(PgschedError):
    """The caller may not do this."""

    code = "pgsched.refused"
    sqlstate = "PS012"


class Unauthenticated(PgschedError):
    """The API was given no key, or one that is unknown, expired or revoked."""

    code = "pgsched.unauthenticated"


class StaleLease(PgschedError):
    """Another worker or consumer has leased the execution since; this result does not count."""

    code = "pgsched.stale_lease"
    sqlstate = "PS013"


class QueueFull(PgschedError):
    """The queue has reached its maximum of waiting executions; try again later."""

    code = "pgsched.queue_full"
    sqlstate = "PS014"


class TooManyRequests(PgschedError):
    """The API key has exceeded its limit of requests per second."""

    code = "pgsched.too_many_requests"


class SchemaMismatch(PgschedError):
    """The database's schema is not the one this release needs: run ``pgsched migrate``."""

    code = "pgsched.schema_mismatch"


class Unavailable(PgschedError):
    """The database (or, for the SDK, the API) cannot be reached."""

    code = "pgsched.unavailable"


class EmbeddedPostgresError(PgschedError):
    """The embedded PostgreSQL cannot be used or started here; the message says why and what to do."""

    code = "pgsched.embedded_postgres"


def all_errors(root: type[PgschedError] = PgschedError) -> list[type[PgschedError]]:
    """Returns all error classes of this module, with each base class before its subclasses."""
    kinds = [kind for kind in root.__subclasses__() if kind.__module__ == __name__]
    return [root, *(found for kind in kinds for found in all_errors(kind))]


_BY_SQLSTATE = {error.sqlstate: error for error in all_errors() if error.sqlstate}


def error_for_sqlstate(sqlstate: str | None) -> type[PgschedError] | None:
    """Returns the error class for a SQLSTATE, or None if it is not one of pgsched's."""
    return _BY_SQLSTATE.get(sqlstate or "")
