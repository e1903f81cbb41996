"""The tables that listings read, for SQLAlchemy Core. The schema itself is the migrations'."""

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Integer,
    Interval,
    MetaData,
    SmallInteger,
    Table,
    Text,
    Uuid,
    literal_column,
)
from sqlalchemy.dialects.postgresql import ARRAY, ENUM, JSONB

from pgsched.domain.states import JOB_STATES, STATUSES

metadata = MetaData(schema="pgsched")
_instant = DateTime(timezone=True)
_status = ENUM(*STATUSES, name="execution_status", schema="pgsched", create_type=False)
_state = ENUM(*JOB_STATES, name="job_state", schema="pgsched", create_type=False)

# Written out, so that also a plan for any parameters finds the indexes that have failed executions alone.
FAILED = literal_column("'failed'::pgsched.execution_status", _status)

status = Table(
    "status",
    metadata,
    Column("id", Uuid),
    Column("client_id", Text),
    Column("key", Text),
    Column("job_id", Uuid),
    Column("queue", Text),
    Column("status", _status),
    Column("target", Text),
    Column("payload", JSONB),
    Column("scheduled_for", _instant),
    Column("fire_at", _instant),
    Column("attempt", SmallInteger),
    Column("created_at", _instant),
    Column("finished_at", _instant),
    Column("status_code", SmallInteger),
    Column("result", JSONB),
    Column("reason", Text),
    Column("options", JSONB),
    Column("ordering_key", Text),
    Column("lease_owner", Integer),
    Column("lease_expires_at", _instant),
    Column("instants", BigInteger),
    Column("last_scheduled_for", _instant),
    Column("held_by", Text),
)

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
    Column("labels", JSONB),
    Column("cron", Text),
    Column("timezone", Text),
    Column("every", Interval),
    Column("anchor", _instant),
    Column("gap", Text),
    Column("overlap", Text),
    Column("state", _state),
    Column("reason", Text),
    Column("revision", Integer),
    Column("planned_revision", Integer),
    Column("runs", Integer),
    Column("paused_at", _instant),
    Column("accounted_to", _instant),
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
)

workers = Table(
    "workers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text),
    Column("queues", ARRAY(Text)),
    Column("release", Text),
    Column("started_at", _instant),
    Column("expires_at", _instant),
    Column("lost_since", _instant),
)
