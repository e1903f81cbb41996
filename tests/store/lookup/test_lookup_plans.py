"""Documented look-ups of executions, dead letters and jobs cost no more among many rows than among few.

Each runs among 20,000 rows and again among 200,000, and the pages it read are compared. Among fewer rows, PostgreSQL 15
prefers to read a whole table. To run it among more rows and print each cost:
PGSCHED_TEST_LOOKUP_ROWS=5000000 pytest -s tests/store/lookup/test_lookup_plans.py
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.domain.attempt_outcome import NO_SLOT
from pgsched.domain.states import STATUSES
from pgsched.store.admin.audit import AuditFilter
from pgsched.store.core.sql import statement, statement_with
from pgsched.store.live.rollups import EVERYBODY
from pgsched.store.lookup.audit_pages import page_of_changes, reach_of_changes
from pgsched.store.lookup.bulk_pages import page_of_operations
from pgsched.store.lookup.clauses import Query, SortOrder, query
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter, JobFilter
from pgsched.store.lookup.overview import MOST_COUNTED
from pgsched.store.lookup.page_queries import (
    page_of_dead_letters,
    page_of_definitions,
    page_of_executions,
    page_of_jobs,
    reasons_of_dead_letters,
)
from pgsched.store.lookup.page_reach import reach_of_dead_letters, reach_of_executions, reach_of_jobs
from tests.store.lookup.lookup_arrange import DEAD_LETTER_STATES, JOB, Db, act_as_client, bounds, fill, make_days

pytestmark = pytest.mark.oldest_postgresql

ROWS = int(os.environ.get("PGSCHED_TEST_LOOKUP_ROWS", "200000"))
LIMIT, ENTRIES, VISITS = 50, ROWS // 400, ROWS // 1000
_NOW = datetime.now(UTC)
_VIEW = "select * from pgsched.status "
_SQL = {
    "the newest": f"{_VIEW} order by id desc limit 50",
    "the newest of a client": f"{_VIEW} where client_id = 'big' order by id desc limit 50",
    "the newest of a queue": f"{_VIEW} where queue = 'default' order by id desc limit 50",
    "the newest before an id": f"{_VIEW} where id < pgsched_internal.new_id() order by id desc limit 50",
    "one by its id": f"{_VIEW} where id = '{JOB}'",
    "a live one by its key": f"{_VIEW} where client_id = 'big' and key = 'l1000'",
    "a finished one by its key": f"{_VIEW} where client_id = 'big' and key = 'k1000'",
    "the last of a job": f"{_VIEW} where job_id = '{JOB}' order by scheduled_for desc limit 20",
    "finished ones of a client by their status":
        "select * from pgsched.history where client_id = 'big' and status = 'failed' order by id desc limit 50",
    "dead letters":
        "select * from pgsched.dead_letters where client_id = 'big' and dealt_with_at is null"
        " order by id desc limit 50",
    "rows waiting under an ordering key":
        "select * from pgsched.executions where client_id = 'big' and ordering_key = 'o'",
    "rows held at a gate":
        "select * from pgsched.executions where gate = 'client:big' and not isfinite(fire_at) limit 50",
    "a job by its key": "select * from pgsched.jobs where client_id = 'big' and key = 'j1000'",
    "jobs that are invalid": "select key, state, reason from pgsched.jobs where state = 'invalid' limit 50",
    "changes of a job":
        f"select at, actor, action, detail from pgsched.audit_log where subject = '{JOB}' order by id",
    "workers": "select * from pgsched.workers",
}  # fmt: skip
_EXECUTIONS: dict[str, dict[str, Any]] = {
    **{f"status {name}": {"statuses": (name,)} for name in STATUSES},
    **{f"a client's {name}": {"client": "big", "statuses": (name,)} for name in STATUSES},
    "all": {},
    "a client": {"client": "big"},
    "a client with few rows": {"client": "rare"},
    "a client with no rows": {"client": "nobody"},
    "a queue": {"queue": "default"},
    "no queue": {"queue": "nowhere"},
    "a host": {"host": "shop.example"},
    "a host with no rows": {"host": "nowhere.example"},
    "live and ended": {"statuses": ("scheduled", "failed", "expired")},
    "a key of a client": {"client": "big", "key": "k1000"},
    "a key": {"key": "k1000"},
    "a job": {"job": UUID(JOB)},
    "labels": {"labels": {"team": "t3"}},
    "labels with no rows": {"labels": {"team": "nobody"}},
    "labels of a client": {"client": "big", "labels": {"team": "t3"}},
    "labels of a client with no rows": {"client": "big", "labels": {"team": "nobody"}},
    "labels of a client without any": {"client": "c1", "labels": {"team": "t3"}},
    "labels of a client's failed ones": {"client": "big", "statuses": ("failed",), "labels": {"team": "t3"}},
    "from": {"start": _NOW - timedelta(hours=1)},
    "to": {"end": _NOW - timedelta(days=6)},
    "from and to of a client's failed ones": {
        "client": "rare", "statuses": ("failed",), "start": _NOW - timedelta(days=5), "end": _NOW - timedelta(days=4),
    },
}  # fmt: skip
_LETTERS: dict[str, dict[str, Any]] = {
    "all": {},
    "a client": {"client": "big"},
    "a client with no rows": {"client": "nobody"},
    "a target": {"target": "https://shop"},
    "a host": {"host": "other.example"},
    "a key": {"key": "k1000"},
    "a key of a client": {"client": "big", "key": "k1000"},
    "from": {"start": _NOW - timedelta(hours=1)},
    "to": {"end": _NOW - timedelta(days=6)},
    "a reason": {"reason": "no route"},
    "a status code": {"status_code": 404},
    "labels": {"labels": {"team": "t3"}},
}
_JOBS: dict[str, dict[str, Any]] = {
    "all": {},
    "a client": {"client": "big"},
    "a client with few rows": {"client": "rare"},
    "a state": {"state": "paused"},
    "a state with no rows": {"state": "invalid"},
    "a client's state": {"client": "big", "state": "paused"},
    "a key": {"key": "j1000"},
    "a key of a client": {"client": "big", "key": "j1000"},
    "a host": {"host": "shop.example"},
    "a host with no rows": {"host": "nowhere.example"},
    "a host with no rows of a client": {"client": "big", "host": "nowhere.example"},
    "labels": {"labels": {"team": "t3"}},
    "labels with no rows": {"labels": {"team": "nobody"}},
}
_AS_CLIENT = ("the newest", "the newest of a client", "one by its id", "a finished one by its key")
_KEYS_OF_THE_API = {"some": '{big,"another one"}', "all": "all"}
_OF_THE_API = ("all", "a client", "a key of a client", "a job", "labels of a client", "labels of a client with no rows")
_AS_API: dict[str, Any] = {
    **{name: ExecutionFilter(**_EXECUTIONS[name]) for name in _OF_THE_API},
    **{f"letters: {name}": DeadLetterFilter(**_LETTERS[name]) for name in ("all", "a client", "a key of a client")},
    **{f"jobs: {name}": JobFilter(**_JOBS[name]) for name in ("all", "a client", "a key of a client", "labels")},
}
_COUNTS: dict[str, dict[str, Any]] = {
    "lookup/count_live": {"most": MOST_COUNTED // 10},
    "lookup/count_ended": {"most": MOST_COUNTED // 10},
    "lookup/late_queues": {"most": 10, "no_slot": NO_SLOT},
    "lookup/queue_states": {},
    "doctor/unplanned_jobs": {"seconds": 60, "most": 50},
    "doctor/stalled_bulk_operations": {"seconds": 300, "most": 20},
    "lookup/undeliverable": {},
    "lookup/now_edges": {"queues": 50, "most": 5, "no_slot": NO_SLOT},
    "lookup/held_back": {"gates": 5, "most": 50},
    "lookup/now_flows": {"queues": 50},
    "lookup/held_of_clients": {"clients": [f"client-{n}" for n in range(50)], "most": 50},
    "lookup/wal_and_dead_letters": {"most": 50},
    "admin/last_changes": {"kind": "limit", "names": ["client:shop", "host:shop.example"]},
    "admin/former_workers": {"worker": None, "limit": 20},
    "admin/clients": {"client": None, "after": "client-5", "start": None, "limit": 51},
    "admin/weights": {"clients": [f"client-{n}" for n in range(50)]},
    "lookup/table_sizes": {"most": 20},
    "admin/workers": {"worker": None},
    "lookup/in_hand": {"worker": 1, "queues": 50, "most": 250, "limit": 50},
    "admin/queues": {"name": None, "most": MOST_COUNTED // 10},
    "lookup/last_outcomes": {"jobs": [UUID(JOB)], "most": 10},
    "lookup/attempts": {"execution": UUID(JOB)},
    "ends/dependencies_of": {"id": UUID(JOB), "most": 100},
    "doctor/horizons": {"most": 20},
    "doctor/days_ahead": {},
    "doctor/strays": {},
}
_SPAN: dict[str, Any] = {"start": _NOW - timedelta(hours=6), "end": _NOW, "queue": None, "step": 300.0, "limit": 50}
_DONE: dict[str, dict[str, Any]] = {
    "over time": {"by": "time", "clients": [EVERYBODY]},
    "of some clients over time": {"by": "time", "clients": ["big", "c1"]},
    "by queue": {"by": "queue", "clients": [EVERYBODY]},
    "by client": {"by": "client", "clients": None},
    "by client, of some": {"by": "client", "clients": ["big", "c1"]},
}


_NONE: dict[str, Any] = {"client": None, "kind": None, "name": None, "after": None, "start": None, "limit": 51}
_GATES: dict[str, tuple[str, dict[str, Any]]] = {
    "clients from a name on": ("admin/clients", _NONE | {"start": "client-5"}),
    "one client": ("admin/clients", _NONE | {"client": "client-77"}),
    "limits": ("gates/limits", _NONE),
    "limits of a kind": ("gates/limits", _NONE | {"kind": "key"}),
    "limits of a kind with no rows": ("gates/limits", _NONE | {"kind": "host"}),
    "one limit": ("gates/limits", _NONE | {"kind": "key", "name": "7.example"}),
    "sidelined targets": ("gates/sidelined", _NONE),
    "sidelined targets of a client": ("gates/sidelined", _NONE | {"client": "client-7"}),
    "sidelined targets of a client with no rows": ("gates/sidelined", _NONE | {"client": "nobody"}),
    "blocked ordering keys": ("gates/blocked_keys", _NONE),
    "blocked ordering keys of a client": ("gates/blocked_keys", _NONE | {"client": "client-7"}),
    "a key of any client": ("lookup/named", {"clients": None, "key": "k1000"}),
    "a key of a client": ("lookup/named", {"clients": ["big"], "key": "k1000"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The pages that a query touched, and the milliseconds it took."""

    pages: int
    milliseconds: float


class Lookups:
    """The look-ups, by name: each is a function that asks and returns the cost."""

    def __init__(self, db: Db) -> None:
        self._db = db
        self.asked: dict[str, Callable[[], Cost]] = {}
        for name, text in _SQL.items():
            self.asked[f"SQL: {name}"] = partial(self._cost, text, {})
        for name in _AS_CLIENT:
            self.asked[f"SQL as a client's role: {name}"] = partial(self._as_client, _SQL[name])
        for name, parameters in _COUNTS.items():
            self.asked[f"count: {name}"] = partial(self._cost, statement(name), parameters)
        for name, (of, parameters) in _GATES.items():
            self.asked[f"gates: {name}"] = partial(self._cost, statement(of), parameters)
            self.asked[f"gates, for the API: {name}"] = partial(
                self._acting, "all", self._cost, statement(of), parameters
            )
        named: dict[str, Any] = {"clients": ["c1"], "key": "k1000"}
        self.asked["a key, for the API of a client"] = partial(
            self._acting, "{c1}", self._cost, statement("lookup/named"), named
        )
        text = statement_with("lookup/done", ("rolled_up",))
        for name, by in _DONE.items():
            parameters = _SPAN | by
            self.asked[f"done {name}"] = partial(self._cost, text, parameters)
            self.asked[f"done {name}, for the API"] = partial(self._acting, "all", self._cost, text, parameters)
        for name, wanted in _EXECUTIONS.items():
            for order in SortOrder:
                asked = partial(self._executions, ExecutionFilter(**wanted), order)
                self.asked[f"executions, the {order} first: {name}"] = asked
        for name, wanted in _LETTERS.items():
            for state in DEAD_LETTER_STATES:
                self.asked[f"dead letters {state}: {name}"] = partial(self._letters, DeadLetterFilter(**wanted), state)
            oldest = partial(self._letters, DeadLetterFilter(**wanted), "open", SortOrder.OLDEST)
            self.asked[f"dead letters, the oldest first: {name}"] = oldest
        for name, wanted in _JOBS.items():
            for order in SortOrder:
                self.asked[f"jobs, the {order} first: {name}"] = partial(self._jobs, JobFilter(**wanted), order)
        for name in ("a state", "a client's state"):
            self.asked[f"definitions of jobs: {name}"] = partial(self._definitions, JobFilter(**_JOBS[name]))
        for name in ("all", "a client", "a reason"):
            self.asked[f"reasons of dead letters: {name}"] = partial(self._reasons, DeadLetterFilter(**_LETTERS[name]))
        for name, wanted in _AS_API.items():
            for clients, said in _KEYS_OF_THE_API.items():
                self.asked[f"the API with a key of {clients} clients: {name}"] = partial(self._as_api, said, wanted)
        self.asked["events: what is new"] = self._events
        for clients, said in _KEYS_OF_THE_API.items():
            self.asked[f"the API with a key of {clients} clients: events"] = partial(self._events, said)
        self.asked["executions: one"] = partial(self._cost, f"select * from pgsched.status_of('{JOB}')", {})
        changes, job = AuditFilter(actor="nobody"), UUID(JOB)
        self.asked["changes"] = partial(self._cost_of, page_of_changes(changes, limit=50, most=50))
        self.asked["the reach of a page of changes"] = partial(self._cost_of, reach_of_changes(changes, most=50))
        self.asked["bulk operations"] = partial(self._cost_of, page_of_operations(limit=50))
        of_job = partial(self._cost_of, page_of_operations(job=job, limit=50))
        self.asked["bulk operations of a job"] = of_job
        self.asked["bulk operations of a job, for the API"] = partial(self._acting, '{big,"another one"}', of_job)
        self.asked["dead letters: one"] = partial(
            self._cost_of, query("lookup/dead_letters", {"id": UUID(JOB)}, limit=1, contents=True)
        )

    def _as_client(self, query: str) -> Cost:
        self._db.execute("set role big")
        try:
            return self._cost(query, {})
        finally:
            self._db.execute("reset role")

    def _as_api(self, clients: str, wanted: ExecutionFilter | DeadLetterFilter | JobFilter) -> Cost:
        match wanted:
            case ExecutionFilter():
                return self._acting(clients, self._executions, wanted)
            case DeadLetterFilter():
                return self._acting(clients, self._letters, wanted, "open")
        return self._acting(clients, self._jobs, wanted)

    def _acting(self, clients: str, ask: Callable[..., Cost], *given: Any) -> Cost:
        """As the role of the API, whose rows are filtered by policies."""
        self._db.execute("select set_config('pgsched.api_clients', %s, false)", [clients])
        self._db.execute("set role pgsched_api")
        try:
            return ask(*given)
        finally:
            self._db.execute("reset role")

    def _events(self, clients: str | None = None) -> Cost:
        """Read the events of three once open transactions and of all later transactions; there are no events."""
        [newest] = self._db.execute("select max(settled_in) from pgsched.history").fetchone() or (0,)
        asked = {"earliest": _NOW - timedelta(days=1), "late": [3, 4, 5], "open": [6], "partly": 5, "clients": None}
        asked |= {"low": newest + 1, "high": newest + 1000, "id": UUID(JOB), "limit": LIMIT}  # type: ignore[operator]
        text = statement("lookup/events")
        return self._cost(text, asked) if clients is None else self._acting(clients, self._cost, text, asked)

    def _executions(self, wanted: ExecutionFilter, order: SortOrder = SortOrder.NEWEST) -> Cost:
        return self._page(
            reach_of_executions(wanted, after=None, order=order),
            lambda last: page_of_executions(
                wanted, limit=LIMIT, after=None, reach=last, order=order, contents=order is SortOrder.NEWEST
            ),
        )

    def _letters(self, wanted: DeadLetterFilter, state: str, order: SortOrder = SortOrder.NEWEST) -> Cost:
        return self._page(
            reach_of_dead_letters(wanted, state=state, after=None, order=order),
            lambda last: page_of_dead_letters(wanted, state=state, limit=LIMIT, after=None, reach=last, order=order),
        )

    def _jobs(self, wanted: JobFilter, order: SortOrder = SortOrder.NEWEST) -> Cost:
        return self._page(
            reach_of_jobs(wanted, after=None, order=order),
            lambda last: page_of_jobs(wanted, limit=LIMIT, after=None, reach=last, order=order),
        )

    def _definitions(self, wanted: JobFilter) -> Cost:
        return self._page(
            reach_of_jobs(wanted, after=None),
            lambda last: page_of_definitions(wanted, limit=LIMIT, after=None, reach=last),
        )

    def _reasons(self, wanted: DeadLetterFilter) -> Cost:
        return self._page(
            reach_of_dead_letters(wanted, state="open", after=None),
            lambda last: reasons_of_dead_letters(wanted, state="open", limit=LIMIT, after=None, reach=last),
        )

    def _page(self, reached: Query | None, page: Callable[[UUID | None], Query]) -> Cost:
        if reached is None:
            return self._cost_of(page(None))
        found = self._db.execute(reached.text.encode(), reached.parameters).fetchone()
        first, then = self._cost_of(reached), self._cost_of(page(found[0] if found else None))  # type: ignore[arg-type]
        return Cost(pages=first.pages + then.pages, milliseconds=first.milliseconds + then.milliseconds)

    def _cost_of(self, query: Query) -> Cost:
        return self._cost(query.text, query.parameters)

    def _cost(self, query: str, parameters: Mapping[str, Any]) -> Cost:
        """Ask twice: what a session does only once, also within functions, reads pages too."""
        for _ in range(2):
            explained = f"explain (analyze, buffers, timing off, format json) {query}"
            found: Any = self._db.execute(explained.encode(), parameters).fetchone()
        plan = found[0][0]
        pages = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
        return Cost(pages=pages, milliseconds=plan["Planning Time"] + plan["Execution Time"])


@pytest.fixture(scope="module")
def costs(module_url: str) -> Iterator[dict[str, tuple[Cost, Cost]]]:
    """What each look-up cost, among a tenth of the rows and among all."""
    with bounds(entries=ENTRIES, visits=VISITS), psycopg.connect(module_url, autocommit=True) as db:
        make_days(db)
        act_as_client(db)
        measured = []
        for behind, up_to in ((0, ROWS // 10), (ROWS // 10, ROWS)):
            fill(db, behind=behind, up_to=up_to, all_rows=ROWS)
            measured.append({name: ask() for name, ask in Lookups(db).asked.items()})
        few, many = measured
        yield {name: (few[name], many[name]) for name in few}


def test_lookup_costs_do_not_grow_with_ten_times_the_rows(costs: dict[str, tuple[Cost, Cost]]) -> None:
    """All in one test: filling the tables takes longer than asking, and each test process would fill its own."""
    dear = []
    for name, (few, many) in costs.items():
        sys.stdout.write(f"{name}: {few.pages} pages, then {many.pages} in {many.milliseconds:.1f} ms\n")
        # VISITS rows may be read to see how far a page reaches, and again for the page, each in its own block: an
        # analyze beside the vacuum keeps it from marking blocks as visible to all. The rows that are shown are then
        # reached by an index.
        if many.pages > 1.5 * few.pages + 2 * VISITS + 3 * LIMIT:
            dear.append(f"{name}: {few.pages} pages, then {many.pages}")
    assert dear == []
