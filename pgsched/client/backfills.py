"""The API's routes for backfills as values."""

from datetime import datetime

from pgsched.client.asks import Ask, Id, encode, identity
from pgsched.client.values import Backfill, Backfilled, Changed
from pgsched.domain.schedule import instant_of


def backfill(job_id: Id, *, start: datetime | str, end: datetime | str, rate: float, dry_run: bool) -> Ask[Backfilled]:
    body = {
        "from": instant_of(start, "start").isoformat(),
        "to": instant_of(end, "end").isoformat(),
        "rate": rate,
        "dry_run": dry_run,
    }
    path = f"/v1/jobs/{identity(job_id)}/backfill"
    return Ask(method="POST", path=path, answer=Backfilled, body=encode(body, "rate"))


def get_backfill(id: Id) -> Ask[Backfill]:
    return Ask(method="GET", path=f"/v1/backfills/{identity(id)}", answer=Backfill)


def cancel_backfill(id: Id) -> Ask[Changed]:
    return Ask(method="DELETE", path=f"/v1/backfills/{identity(id)}", answer=Changed)
