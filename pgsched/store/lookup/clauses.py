"""What the queries of listings are put together from: tables, orders, and conditions on labels and hosts."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from pgsched.domain.queue_partitions import PARTITIONS_PER_QUEUE
from pgsched.domain.states import JOB_STATES, STATUSES

Condition = sa.ColumnElement[bool]
_Id = sa.ColumnElement[Any]
STATUS = postgresql.ENUM(*STATUSES, name="execution_status", schema="pgsched", create_type=False)
_JOB_STATE = postgresql.ENUM(*JOB_STATES, name="job_state", schema="pgsched", create_type=False)

# Written out, so that also a plan for any parameters finds the indexes that have failed executions alone.
FAILED = sa.literal_column("'failed'::pgsched.execution_status", STATUS)


def table(name: str, *columns: str, schema: str = "pgsched") -> sa.TableClause:
    """A table or view by the columns that a query names."""
    return sa.table(name, *map(sa.column, columns), schema=schema)


queues = table("queues", "name", "first_partition")


def homes(queue: str | None = None) -> sa.Select[Any]:
    """The partitions, each with the name of its queue; of one queue or of all."""
    slots = sa.func.generate_series(0, PARTITIONS_PER_QUEUE - 1).table_valued("slot").render_derived("slots")
    partition = sa.cast(queues.c.first_partition + slots.c.slot, sa.SmallInteger).label("partition")
    found = sa.select(queues.c.name, partition).select_from(queues.join(slots, sa.true()))
    return found if queue is None else found.where(queues.c.name == queue)


def row_of(row: Any, rows: sa.FromClause, **computed: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Selects the fields of a dataclass: what is ``computed``, or the column of the same name, or null where there is
    none. Its client is called ``client_id`` in the database."""
    columns: dict[str, sa.ColumnElement[Any]] = {**rows.c, **computed}
    named = {name: "client_id" if name == "client" else name for name in row.__dataclass_fields__}
    return sa.select(*(columns.get(column, sa.null()).label(name) for name, column in named.items()))


def equal(*pairs: tuple[sa.ColumnElement[Any], Any]) -> list[Condition]:
    """That each of these columns has its value, where one is given."""
    return [column == value for column, value in pairs if value is not None]


def in_state(column: sa.ColumnElement[Any], state: str) -> Condition:
    """That a job is in this state."""
    return column == sa.cast(state, _JOB_STATE)


def labelled(column: sa.ColumnElement[Any], labels: Any) -> list[Condition]:
    """That a row has all these labels, which are JSON text, if they are given. That it has any is said apart, for the
    indexes that have such rows alone: no role that row-level security holds may have JSON compared in one."""
    if labels is None:
        return []
    text = sa.literal(json_of(labels), sa.String()) if isinstance(labels, Mapping) else labels
    return [column.is_not(None), column.op("@>", is_comparison=True)(sa.cast(text, postgresql.JSONB))]


def json_of(labels: Mapping[str, str]) -> str:
    return orjson.dumps(dict(labels)).decode()


def calling(target: sa.ColumnElement[Any], host: Any) -> list[Condition]:
    """That a target is at this host, in any case of letters, if one is given."""
    internal = sa.func.pgsched_internal
    return [] if host is None else [internal.target_host(target) == internal.canonical_host(host)]


class SortOrder(StrEnum):
    """Which rows come first: ids are made in the order of time. What a page ends at is ``after`` for the next one, and
    ``reach`` for how far it looks."""

    NEWEST = "newest"
    OLDEST = "oldest"

    def between(self, id: _Id, after: UUID | None, reach: UUID | None = None) -> list[Condition]:
        """Those that come after the one with the id ``after``, as far as the one with the id ``reach``."""
        is_newest = self is SortOrder.NEWEST
        found = [] if after is None else [id < after if is_newest else id > after]
        return found if reach is None else [*found, id >= reach if is_newest else id <= reach]

    def by(self, id: _Id) -> sa.UnaryExpression[Any]:
        return id.desc() if self is SortOrder.NEWEST else id.asc()

    def first(self, *ids: sa.ScalarSelect[Any]) -> sa.ColumnElement[Any]:
        """Which of them comes first; of nulls none does."""
        if len(ids) == 1:
            return ids[0]
        return sa.func.greatest(*ids) if self is SortOrder.NEWEST else sa.func.least(*ids)
