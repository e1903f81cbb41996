"""The tables that listings read, for SQLAlchemy Core. The schema itself is the migrations'."""

from typing import Any

from sqlalchemy import (
    Column,
    DateTime,
    Integer,
    Interval,
    MetaData,
    Select,
    SmallInteger,
    Table,
    Text,
    Uuid,
    cast,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, ENUM, JSONB

from pgsched.domain.partitions import PARTITIONS_PER_QUEUE
from pgsched.domain.states import JOB_STATES, STATUSES

metadata = MetaData(schema="pgsched")
_instant = DateTime(timezone=True)
STATUS = ENUM(*STATUSES, name="execution_status", schema="pgsched", create_type=False)
_state = ENUM(*JOB_STATES, name="job_state", schema="pgsched", create_type=False)

# Written out, so that also a plan for any parameters finds the indexes that have failed executions alone.
FAILED = literal_column("'failed'::pgsched.execution_status", STATUS)

queues = Table("queues", metadata, Column("name", Text), Column("first_partition", SmallInteger))

jobs = Table(
    "jobs",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("client_id", Text),
    Column("key", Text),
    Column("queue", Text),
    Column("ordering_key", Text),
    Column("target", Text),
    Column("payload", JSONB),
    Column("options", JSONB),
    Column("rules", JSONB),
    Column("exceptions", ARRAY(_instant)),
    Column("labels", JSONB),
    Column("cron", Text),
    Column("timezone", Text),
    Column("every", Interval),
    Column("anchor", _instant),
    Column("gap", Text),
    Column("overlap", Text),
    Column("state", _state),
    Column("reason", Text),
    Column("runs", Integer),
    Column("declared_by", Text),
    Column("paused_at", _instant),
    Column("created_at", _instant),
    Column("updated_at", _instant),
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("id", Uuid),
    Column("client_id", Text),
    Column("key", Text),
    Column("job_id", Uuid),
    Column("queue", Text),
    Column("target", Text),
    Column("host", Text),
    Column("payload", JSONB),
    Column("options", JSONB),
    Column("ordering_key", Text),
    Column("scheduled_for", _instant),
    Column("created_at", _instant),
    Column("finished_at", _instant),
    Column("attempt", SmallInteger),
    Column("status_code", SmallInteger),
    Column("reason", Text),
    Column("state", Text),
    Column("replayed_as", Uuid),
    Column("dealt_with_at", _instant),
    Column("dealt_with_by", Text),
    Column("expires_at", _instant),
    Column("labels", JSONB),
)


def homes(queue: str | None = None) -> Select[Any]:
    """The partitions, each with the name of its queue; of one queue or of all."""
    slots = func.generate_series(0, PARTITIONS_PER_QUEUE - 1).table_valued("slot").render_derived("slots")
    partition = cast(queues.c.first_partition + slots.c.slot, SmallInteger).label("partition")
    found = select(queues.c.name, partition).select_from(queues.join(slots, true()))
    return found if queue is None else found.where(queues.c.name == queue)
