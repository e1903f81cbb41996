"""API calls by several concurrent clients, checked against the database afterwards.

Each client creates jobs and performs random actions on each; each call names its job, and logged calls carry a unique
note. A call is right if its answer is about this job; in the end, the audit log, the jobs and the executions must match
the requests one by one.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import psycopg

CLIENTS = 8
_LOGGED = "select subject::text, action, detail ->> 'note' from pgsched.audit_log where detail ? 'note'"
_JOBS = "select id::text, client_id, key, target, state::text from pgsched.jobs"
_ONCE = "select id::text, client_id, key, target from pgsched.executions where job_id is null"
_TRIGGERED = """
select e.id::text, e.job_id::text from pgsched.executions e
  join pgsched.audit_log l on l.action = 'trigger' and l.subject = e.job_id and l.detail ->> 'execution' = e.id::text
"""
Fact = tuple[Any, ...]


@dataclass
class Asked:
    """What all clients together expect in the end."""

    logged: Counter[Fact] = field(default_factory=Counter)
    jobs: dict[str, list[str]] = field(default_factory=dict)
    once: set[Fact] = field(default_factory=set)
    triggered: set[Fact] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    calls: int = 0

    def differences(self, db: psycopg.Connection[Any]) -> list[str]:
        """The differences from what was requested; empty if each call did what it reported."""
        compared = [
            (self.logged, Counter(db.execute(_LOGGED).fetchall())),
            (Counter((id, *job) for id, job in self.jobs.items()), Counter(db.execute(_JOBS).fetchall())),
            (Counter(self.once), Counter(db.execute(_ONCE).fetchall())),
            (Counter(self.triggered), Counter(db.execute(_TRIGGERED).fetchall())),
        ]
        found = [f"missing: {fact}" for asked, there in compared for fact in asked - there]
        found += [f"not asked for: {fact}" for asked, there in compared for fact in there - asked]
        return self.wrong + found


class Caller:
    """One client that makes one call after another."""

    def __init__(self, api: httpx.AsyncClient, name: str, asked: Asked) -> None:
        self._api, self._name, self._asked = api, name, asked
        self._draw = random.Random(name)
        self._number = 0

    async def run(self, calls: int) -> None:
        """Work on one job after another until all clients together have made ``calls`` calls."""
        while self._asked.calls < calls:
            await self._one_job()

    async def _one_job(self) -> None:
        key = self._next("job")
        body = {"client": self._name, "key": key, "target": f"python:{key}", "schedule": {"every": "PT24H"}}
        id = str((await self._ask("POST", "/v1/jobs", 201, body, kind="job", outcome="created")).get("id"))
        job = self._asked.jobs[id] = [self._name, key, f"python:{key}", "active"]
        for what in self._draw.choices((self._pause, self._resume, self._edit, self._trigger, self._read), k=8):
            await what(id, job)
        await self._schedule_once()
        if self._draw.random() < 0.3:
            note = self._next("note")
            await self._ask("DELETE", f"/v1/jobs/{id}?note={note}", 200, id=id, changed=True)
            job[3] = "cancelled"
            self._asked.logged[id, "cancel", note] += 1

    async def _pause(self, id: str, job: list[str]) -> None:
        await self._change(id, job, "pause", "active", "paused")

    async def _resume(self, id: str, job: list[str]) -> None:
        await self._change(id, job, "resume", "paused", "active")

    async def _change(self, id: str, job: list[str], verb: str, before: str, after: str) -> None:
        note = self._next("note")
        await self._ask("POST", f"/v1/jobs/{id}/{verb}", 200, {"note": note}, id=id, changed=job[3] == before)
        if job[3] == before:
            job[3] = after
            self._asked.logged[id, verb, note] += 1

    async def _edit(self, id: str, job: list[str]) -> None:
        job[2] = f"python:{self._next('edited')}"
        await self._ask("PATCH", f"/v1/jobs/{id}", 200, {"target": job[2]}, id=id, target=job[2], key=job[1])

    async def _trigger(self, id: str, job: list[str]) -> None:
        answer = await self._ask("POST", f"/v1/jobs/{id}/trigger", 201, job_id=id)
        self._asked.triggered.add((answer.get("id"), id))

    async def _read(self, id: str, job: list[str]) -> None:
        await self._ask("GET", f"/v1/jobs/{id}", 200, id=id, client=job[0], key=job[1], target=job[2], state=job[3])

    async def _schedule_once(self) -> None:
        key = self._next("once")
        body = {"client": self._name, "key": key, "target": f"notify:{key}", "schedule": {"delay": "PT24H"}}
        answer = await self._ask("POST", "/v1/jobs", 201, body, kind="execution", outcome="created")
        self._asked.once.add((answer.get("id"), self._name, key, f"notify:{key}"))

    async def _ask(self, method: str, path: str, status: int, body: Any = None, **expected: Any) -> dict[str, Any]:
        response = await self._api.request(method, path, json=body)
        answer: dict[str, Any] = response.json()
        self._asked.calls += 1
        told = {name: answer.get(name) for name in expected}
        if response.status_code != status or told != expected:
            said = f"{method} {path} {body}: {response.status_code} {response.text[:300]}, not {status} {expected}"
            self._asked.wrong.append(said)
        return answer

    def _next(self, kind: str) -> str:
        self._number += 1
        return f"{self._name}_{kind}_{self._number}"


async def call_at_once(apis: Sequence[httpx.AsyncClient], calls: int) -> Asked:
    """Make ``calls`` calls in total from several concurrent clients, each of which uses one of the APIs."""
    asked = Asked()
    callers = [Caller(apis[n % len(apis)], f"client_{n}", asked) for n in range(CLIENTS)]
    await asyncio.gather(*(caller.run(calls) for caller in callers))
    return asked
