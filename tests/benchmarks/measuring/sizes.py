"""The size of the live table and the number of its dead rows."""

from typing import Any

import psycopg

_SIZES = """
select coalesce(sum(pg_relation_size(i.inhrelid)), 0)::bigint, coalesce(sum(pg_indexes_size(i.inhrelid)), 0)::bigint,
       coalesce(sum(pg_stat_get_dead_tuples(i.inhrelid)), 0)::bigint
  from pg_inherits i where i.inhparent = 'pgsched.executions'::regclass"""


def live_table(connection: psycopg.Connection[Any]) -> dict[str, int]:
    """Returns the bytes of heap and indexes of all partitions together, and PostgreSQL's count of dead rows."""
    row = connection.execute(_SIZES.encode()).fetchone() or (0, 0, 0)
    return dict(zip(("heap_bytes", "index_bytes", "dead_rows"), row, strict=True))
