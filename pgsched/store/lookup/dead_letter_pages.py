"""Pages of dead letters, in the order of their ids, from the view ``pgsched.dead_letters``."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from pgsched.store.lookup.clauses import Condition, SortOrder, equal, labelled, row_of, table
from pgsched.store.lookup.execution_pages import LARGE
from pgsched.store.lookup.row_types import DeadLetter, DeadLetterFilter

_view = table("dead_letters", "client_id", "host", *(DeadLetter.__dataclass_fields__.keys() - {"client"}))
_letters = _view.c
REASON_SHOWN = 80
"""Characters by which reasons are told apart."""
_IN_STATE: dict[str, list[Condition]] = {
    "open": [_letters.dealt_with_at.is_(None)],
    "replayed": [_letters.replayed_as.is_not(None)],
    "discarded": [_letters.dealt_with_at.is_not(None), _letters.replayed_as.is_(None)],
    "all": [],
}


def page_of_dead_letters(
    wanted: DeadLetterFilter,
    *,
    state: str,
    limit: int,
    after: UUID | None,
    reach: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
    contents: bool = True,
) -> sa.Select[Any]:
    """Those that come after the one with the id ``after``, as far as ``reach``; without ``contents`` as executions."""
    conditions = [*_IN_STATE[state], *_conditions(wanted), *order.between(_letters.id, after, reach)]
    return _letter(contents=contents).where(*conditions).order_by(order.by(_letters.id)).limit(limit)


def reasons_of_dead_letters(
    wanted: DeadLetterFilter,
    *,
    state: str,
    limit: int,
    after: UUID | None,
    reach: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
) -> sa.Select[Any]:
    """The reasons of as many dead letters as ``limit`` says, the most frequent one first."""
    page = page_of_dead_letters(wanted, state=state, limit=limit, after=after, reach=reach, order=order)
    columns = (_letters.id, _letters.client_id, _letters.reason, _letters.finished_at)
    letter = page.with_only_columns(*columns).subquery("letter").c
    reason = sa.func.left(sa.func.coalesce(letter.reason, ""), sa.text(str(REASON_SHOWN)))
    found = sa.select(
        reason.label("reason"),
        sa.func.count().label("letters"),
        sa.func.count(letter.client_id.distinct()).label("clients"),
        sa.func.min(letter.client_id).label("client"),
        sa.func.min(letter.finished_at).label("first"),
        sa.func.max(letter.finished_at).label("last"),
    )
    return found.group_by(sa.text("1")).order_by(sa.text("2 desc, 6 desc"))


def one_dead_letter(*, id: UUID) -> sa.Select[Any]:
    return _letter().where(_letters.id == id).limit(1)


def _letter(*, contents: bool = True) -> sa.Select[Any]:
    left_out = {} if contents else {name: sa.null() for name in LARGE}
    return row_of(DeadLetter, _view, **left_out)


def _conditions(wanted: DeadLetterFilter) -> list[Condition]:
    """The same as ``pgsched.look_through_dead_letters`` has, of what is given."""
    host = None if wanted.host is None else sa.func.pgsched_internal.canonical_host(wanted.host)
    found = equal(
        (_letters.client_id, wanted.client),
        (_letters.host, host),
        (_letters.job_id, wanted.job),
        (_letters.key, wanted.key),
        (_letters.status_code, wanted.status_code),
    )
    found += [sa.func.starts_with(_letters.target, wanted.target)] if wanted.target is not None else []
    found += labelled(_letters.labels, wanted.labels)
    found += [_letters.finished_at >= wanted.start] if wanted.start is not None else []
    found += [_letters.finished_at < wanted.end] if wanted.end is not None else []
    if wanted.reason is not None:
        found.append(sa.func.strpos(sa.func.lower(_letters.reason), sa.func.lower(wanted.reason)) > 0)
    return found
