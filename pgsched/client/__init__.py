"""The SDK: ``Client`` and ``AsyncClient`` call the API; ``schedule`` writes in your own transaction, without the API.

    with Client("http://127.0.0.1:8080") as pgsched:
        pgsched.schedule("https://shop.example/settle", payload={"merchant": 42}, delay="10m")

    with psycopg.connect(...) as connection:  # its commit also commits what was scheduled
        connection.execute("insert into orders ...")
        schedule(connection, "https://shop.example/settle", payload={"order": 7}, key="settle-7")
        schedule_many(connection, ({"target": "python:remind", "payload": n} for n in range(100_000)))

All functions and methods raise the exceptions in ``pgsched.errors``.
"""

from pgsched.api_responses import Job as Job
from pgsched.api_responses import JobDetail as JobDetail
from pgsched.api_responses import JobSchedule as JobSchedule
from pgsched.api_responses import Page as Page
from pgsched.api_responses import Scheduled as Scheduled
from pgsched.client.http import AsyncClient as AsyncClient
from pgsched.client.http import Client as Client
from pgsched.client.many import Ids as Ids
from pgsched.client.many import Request as Request
from pgsched.client.many import schedule_many as schedule_many
from pgsched.client.many import schedule_many_async as schedule_many_async
from pgsched.client.pull import Ticket as Ticket
from pgsched.client.transaction import schedule as schedule
from pgsched.client.transaction import schedule_async as schedule_async
from pgsched.client.transaction import schedule_outcome as schedule_outcome
from pgsched.client.transaction import schedule_outcome_async as schedule_outcome_async
from pgsched.domain.schedule import Fire as Fire
from pgsched.store.admin.audit import AuditEntry as AuditEntry
from pgsched.store.admin.clients import ClientRow as ClientRow
from pgsched.store.admin.clients import SecretHint as SecretHint
from pgsched.store.admin.queues import QueueRow as QueueRow
from pgsched.store.admin.worker_listing import WorkerRow as WorkerRow
from pgsched.store.bulk.operation_types import BulkAsked as BulkAsked
from pgsched.store.bulk.operation_types import BulkDetail as BulkDetail
from pgsched.store.bulk.operation_types import BulkOperation as BulkOperation
from pgsched.store.gates.blocked_keys import BlockedKey as BlockedKey
from pgsched.store.gates.limits import LimitRow as LimitRow
from pgsched.store.gates.sidelined_targets import Sidelined as Sidelined
from pgsched.store.lookup.row_types import Attempt as Attempt
from pgsched.store.lookup.row_types import DeadLetter as DeadLetter
from pgsched.store.lookup.row_types import DeadLetterDetail as DeadLetterDetail
from pgsched.store.lookup.row_types import EditPreview as EditPreview
from pgsched.store.lookup.row_types import Event as Event
from pgsched.store.lookup.row_types import Execution as Execution
from pgsched.store.lookup.row_types import ExecutionDetail as ExecutionDetail
from pgsched.store.pull.claiming import Message as Message
from pgsched.store.schedule.calls import Placed as Placed
