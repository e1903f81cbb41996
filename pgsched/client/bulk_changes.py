"""The methods of both clients for bulk changes."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from pgsched.client.methods import method, pages
from pgsched.client.requests import LARGEST, Call, Id, Instant, between, check_names, identity, path, present
from pgsched.domain.duration import format_shift
from pgsched.domain.schedule import instant_of
from pgsched.responses import Page
from pgsched.store.ends.bulk_changes import BulkChange, ChangingMany


class BulkQuery(TypedDict, total=False):
    """Waiting and running executions that match every filter, with any of the given ``status``. ``start`` (inclusive)
    and ``end`` (exclusive) bound scheduled_for."""

    client: str | None
    status: Sequence[str] | None
    queue: str | None
    host: str | None
    job: Id | None
    key: str | None
    start: Instant | None
    end: Instant | None
    labels: Mapping[str, str] | None


class BulkChangeMethods:
    """The methods of both clients for bulk changes."""

    @method
    def cancel_many(
        self, *, rate: float = 1000, note: str | None = None, dry_run: bool = False, **wanted: Unpack[BulkQuery]
    ) -> Call[ChangingMany]:
        """Cancels all that match, ``rate`` of them per second; a dry run only counts them."""
        return _change("cancel", wanted, {"rate": rate, "note": note, "dry_run": dry_run})

    @method
    def reschedule_many(
        self,
        *,
        fire_at: Instant | None = None,
        shift: timedelta | str | None = None,
        rate: float = 1000,
        note: str | None = None,
        dry_run: bool = False,
        **wanted: Unpack[BulkQuery],
    ) -> Call[ChangingMany]:
        """Moves all waiting one-shots that match to an instant, or each by ``shift``, e.g. ``1h`` or ``-15m``."""
        moment = None if fire_at is None else instant_of(fire_at, "fire_at").isoformat()
        moved = format_shift(shift) if isinstance(shift, timedelta) else shift
        how = {"fire_at": moment, "shift": moved, "rate": rate, "note": note, "dry_run": dry_run}
        return _change("reschedule", wanted, how)

    @method
    def get_bulk_change(self, change_id: Id) -> Call[BulkChange]:
        """A bulk change and its progress."""
        return Call("GET", _one(change_id), BulkChange)

    @method
    def list_bulk_changes(self, *, limit: int = 50, after: str | None = None) -> Call[Page[BulkChange]]:
        """One page, newest first."""
        return Call("GET", path("bulk-changes"), Page[BulkChange], query={"limit": limit, "after": after})

    @pages
    def iter_bulk_changes(self) -> Call[Page[BulkChange]]:
        """All of them; pages are requested as they are needed."""
        return Call("GET", path("bulk-changes"), Page[BulkChange], query={"limit": LARGEST})

    @method
    def cancel_bulk_change(self, change_id: Id) -> Call[bool]:
        """Ends it; executions it has not reached stay unchanged. False if it had ended before."""
        return Call("DELETE", _one(change_id), bool, "changed")


def _one(change_id: Id) -> str:
    return path("bulk-changes", identity(change_id))


def _change(verb: str, wanted: BulkQuery, how: Mapping[str, Any]) -> Call[ChangingMany]:
    check_names(wanted, BulkQuery)
    named = present(between(wanted))
    if isinstance(named.get("status"), str):
        named["status"] = [named["status"]]
    return Call("POST", path("bulk-changes"), ChangingMany, body={"verb": verb, "filter": named, **present(how)})
