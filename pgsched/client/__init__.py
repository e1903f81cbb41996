"""The SDK: ``Client`` and ``AsyncClient`` speak to the API; ``schedule`` needs only your transaction.

    with Client("http://127.0.0.1:8080") as pgsched:
        pgsched.schedule("https://shop.example/settle", payload={"merchant": 42}, delay="10m")

    with psycopg.connect(...) as connection:  # commits at its end, and with it the schedule
        connection.execute("insert into orders ...")
        schedule(connection, "https://shop.example/settle", payload={"order": 7}, key="settle-7")
        schedule_many(connection, ({"target": "python:remind", "payload": n} for n in range(100_000)))

What goes wrong is raised as one of ``pgsched.errors``, the same classes on both ways.
"""

from pgsched.answers import (
    DeadLetterDetail,
    ExecutionDetail,
    Job,
    JobDetail,
    JobSchedule,
    Page,
    Scheduled,
)
from pgsched.client.http import AsyncClient, Client
from pgsched.client.many import Request, schedule_many, schedule_many_async
from pgsched.client.pull import Ticket
from pgsched.client.transaction import schedule, schedule_async, schedule_outcome, schedule_outcome_async
from pgsched.domain.schedule import Fire
from pgsched.store.admin.clients import ClientRow, SecretHint
from pgsched.store.admin.queues import QueueRow
from pgsched.store.ends.dead_letters import Replay, Replaying
from pgsched.store.gates.blocked_keys import BlockedKey
from pgsched.store.gates.limits import LimitRow
from pgsched.store.gates.targets import Sidelined
from pgsched.store.jobs.backfills import Backfill, Backfilled
from pgsched.store.lookup.rows import Attempt, DeadLetter, EditPreview, Execution
from pgsched.store.pull.messages import Message
from pgsched.store.schedule.calls import Placed

__all__ = [
    "AsyncClient",
    "Attempt",
    "Backfill",
    "Backfilled",
    "BlockedKey",
    "Client",
    "ClientRow",
    "DeadLetter",
    "DeadLetterDetail",
    "EditPreview",
    "Execution",
    "ExecutionDetail",
    "Fire",
    "Job",
    "JobDetail",
    "JobSchedule",
    "LimitRow",
    "Message",
    "Page",
    "Placed",
    "QueueRow",
    "Replay",
    "Replaying",
    "Request",
    "Scheduled",
    "SecretHint",
    "Sidelined",
    "Ticket",
    "schedule",
    "schedule_async",
    "schedule_many",
    "schedule_many_async",
    "schedule_outcome",
    "schedule_outcome_async",
]
