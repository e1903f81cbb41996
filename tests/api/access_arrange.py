"""API keys, the rows of a client, and a request for each route of the API."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from pgsched.api.access import PAGE, PUBLIC, SCOPE
from pgsched.domain.api_key import SCOPES, Token
from tests.conftest import Connection
from tests.store.bulk.bulk_arrange import backfill, bulk
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.store.store_arrange import call, column, rotate, schedule, value

MARK = "zq-mark"
"""Appears in every row of client shop and in no request."""
_WORKER = """
insert into pgsched.workers (name, queues, release, expires_at)
values ('here:1', '{default}', '1', now() + interval '1 h') returning id"""
_BODIES: dict[str, dict[str, Any]] = {
    "create": {"target": "python:note", "client": "shop"},
    "create_many": {"target": "python:note", "client": "shop"},
    "claim": {"worker": "svc"},
    "complete": {"token": "1"},
    "fail": {"token": "1", "error": "no"},
    "extend": {"token": "1"},
    "release": {"token": "1"},
    "put_secret": {"value": "hush"},
    "start_bulk": {"action": "cancel", "filter": {"client": "shop"}},
    "put_limit": {"rate": 5},
    "pause_target": {"host": "shop.example", "client": "shop"},
    "resume_target": {"host": "shop.example", "client": "shop"},
    "resume_ordering_key": {"client": "shop", "ordering_key": "account-1"},
    "create_queue": {"name": "another"},
    "create_key": {"subject": "me", "scopes": ["admin"]},
    "preview_spec": {"schedule": {"every": "1h"}, "client": "shop"},
    "put_key_rate": {"rate": 5},
    "edit_job": {"target": "python:other"},
    "edit_execution": {"target": "python:other"},
    "preview_edit": {"target": "python:other"},
    "put_client": {"weight": 5},
    "patch_client": {"keep": "failures"},
    "patch_queue": {"weight": 5},
}
_QUERIES = {
    "follow_events": "after=0.0.0..&wait=0s",
}
_NAMES_A_CLIENT = {
    "create", "start_bulk", "create_many", "pause_target", "resume_target", "resume_ordering_key", "preview_spec",
    "get_client", "put_client", "patch_client", "drop_client", "pause_client", "resume_client",
    "rotate_signing_secret", "drop_signing_secret", "list_secrets", "put_secret", "drop_secret",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route of the API, with a request about the rows of client shop."""

    method: str
    template: str
    name: str
    scope: str
    everywhere: bool

    @property
    def names_a_client(self) -> bool:
        return self.name in _NAMES_A_CLIENT

    def paths(self, things: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """Yields a path for each row that the route can address."""
        name = next((part[1:-1].partition(":")[0] for part in _of(self.template)), "")
        query = f"?{_QUERIES[self.name]}" if self.name in _QUERIES else ""
        for thing in things[name] if name else [""]:
            path = self.template.replace("{kind:str}", "client")
            for part in _of(path):
                path = path.replace(part, thing, 1).replace("{name:str}", "token")
            yield path + query

    async def ask(self, api: httpx.AsyncClient, path: str, key: Token | None) -> httpx.Response:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        if self.name == "create_many":
            headers["Content-Type"] = "application/x-ndjson"
        return await api.request(self.method, path, json=_BODIES.get(self.name), headers=headers)


def _of(template: str) -> list[str]:
    return [part for part in template.split("/") if part.startswith("{") and part != "{kind:str}"]


_IN_TURN = ("GET", "PUT", "PATCH", "POST", "DELETE")


def routes_of(app: Litestar) -> list[Route]:
    """Routes that need a key, without dashboard pages and OPTIONS. Routes that remove something come last."""
    found = []
    for route in app.routes:
        assert isinstance(route, HTTPRoute), f"{route.path} is not an HTTP route: extend this function to test it"
        for handler in route.route_handlers:
            assert isinstance(handler, HTTPRouteHandler)
            is_asked = handler.opt[SCOPE] != PUBLIC and not handler.opt.get(PAGE)
            for method in handler.http_methods - {"OPTIONS"} if is_asked else ():
                found.append(
                    Route(
                        method=str(method),
                        template=route.path_format if "{" not in route.path else route.path,
                        name=handler.fn.__name__,
                        scope=handler.opt["scope"],
                        everywhere=handler.opt["everywhere"],
                    )
                )
    return sorted(found, key=lambda route: (_IN_TURN.index(route.method), route.template))


def make_key(
    db: Connection, *, clients: Sequence[str] | None = None, scopes: Sequence[str] = SCOPES, subject: str = "test"
) -> Token:
    """Stores a new API key and returns its token."""
    token = Token.new()
    db.execute(
        "select pgsched_internal.create_key(%s, %s, %s, %s, %s, null)",
        [token.id, token.hash, subject, None if clients is None else list(clients), list(scopes)],
    )
    return token


def things_of_shop(db: Connection) -> dict[str, list[str]]:
    """Creates rows of client shop and returns their ids, with shared ones, by path parameter."""
    given: dict[str, Any] = {"client": "shop", "target": f"https://{MARK}.example/x", "payload": {MARK: 1}}
    job = schedule(db, **given, every="1 hour", key=f"{MARK}-job", labels={MARK: "1"})
    waiting = schedule(db, **given, key=f"{MARK}-waiting", ordering_key=f"{MARK}-order", delay="1 hour")
    letter = dead_letter(db, **given, key=f"{MARK}-letter", reason=MARK)
    filled = backfill(db, job, "2026-01-01T00:00Z", "2026-02-01T00:00Z")
    operation = bulk(db, "replay", {"client": "shop", "reason": f"{MARK}-no"})
    db.execute("update pgsched.bulk_operations set clients = '{shop}'")
    call(db, "set_client", client="shop", changes={"dead_letter_target": f"notify:{MARK.replace('-', '_')}"})
    rotate(db)
    call(db, "set_limit", kind="client", name="shop", rate=100)
    call(db, "set_limit", kind="host", name=f"{MARK}.example", rate=100)
    call(db, "pause", kind="target", name=f"{MARK}.example", client="shop")
    db.execute(
        "insert into pgsched.blocked_keys values ('shop', %s, 0, pgsched_internal.new_id(), %s)",
        [f"{MARK}-order", MARK],
    )
    key = make_key(db, clients=["shop"], subject=MARK)
    worker = value(db, _WORKER.encode())
    found: dict[str, list[UUID | str]] = {
        "job_id": [job],
        "execution_id": [waiting, letter],
        "operation_id": [operation, filled],
        "client": ["shop"],
        "queue": ["orders"],
        "name": ["default"],
        "key_id": [key.id],
        "worker": [str(worker)],
    }
    return {name: [str(thing) for thing in things] for name, things in found.items()}


_WRITTEN = (
    "pgsched.executions", "pgsched.jobs", "pgsched.history", "pgsched.clients", "pgsched.queues",
    "pgsched.bulk_operations", "pgsched.blocked_keys",
    "pgsched_internal.draining", "pgsched_internal.gates", "pgsched_internal.kept_dead_letters",
    "pgsched_internal.signing_secrets", "pgsched_internal.api_keys",
)  # fmt: skip


def rows_of_all(db: Connection) -> dict[str, list[str]]:
    """Returns all rows that a request can change, without the last use of keys."""
    row = "(to_jsonb(t) - 'last_used_at')::text"
    return {table: column(db, f"select {row} from {table} t order by 1".encode()) for table in _WRITTEN}
