"""The SDK: ``Client`` and ``AsyncClient`` speak to the API; ``schedule`` needs only your transaction.

    with Client("http://127.0.0.1:8080") as pgsched:
        pgsched.schedule("https://shop.example/settle", payload={"merchant": 42}, delay="10m")

    with psycopg.connect(...) as connection:  # commits at its end, and with it the schedule
        connection.execute("insert into orders ...")
        schedule(connection, "https://shop.example/settle", payload={"order": 7}, key="settle-7")
        schedule_many(connection, ({"target": "python:remind", "payload": n} for n in range(100_000)))

What goes wrong is raised as one of ``pgsched.errors``, the same classes on both ways.
"""

from pgsched.client import gates, settings
from pgsched.client.consumers import Message, Ticket
from pgsched.client.http import AsyncClient, Client
from pgsched.client.many import Request, schedule_many, schedule_many_async
from pgsched.client.transaction import (
    schedule,
    schedule_async,
    schedule_outcome,
    schedule_outcome_async,
)
from pgsched.client.values import (
    Attempt,
    Backfill,
    Backfilled,
    DeadLetter,
    EditPreview,
    Execution,
    Fire,
    Job,
    Page,
    Recurrence,
    Replay,
    Replaying,
    Scheduled,
)
from pgsched.store.schedule.calls import Placed

__all__ = [
    "AsyncClient",
    "Attempt",
    "Backfill",
    "Backfilled",
    "Client",
    "DeadLetter",
    "EditPreview",
    "Execution",
    "Fire",
    "Job",
    "Message",
    "Page",
    "Placed",
    "Recurrence",
    "Replay",
    "Replaying",
    "Request",
    "Scheduled",
    "Ticket",
    "gates",
    "schedule",
    "schedule_async",
    "schedule_many",
    "schedule_many_async",
    "schedule_outcome",
    "schedule_outcome_async",
    "settings",
]
