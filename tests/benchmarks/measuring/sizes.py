"""How large the live table is, and how much of it is dead."""

from typing import Any

import psycopg

_SIZES = """
select coalesce(sum(pg_relation_size(i.inhrelid)), 0)::bigint, coalesce(sum(pg_indexes_size(i.inhrelid)), 0)::bigint,
       coalesce(sum(pg_stat_get_dead_tuples(i.inhrelid)), 0)::bigint
  from pg_inherits i where i.inhparent = 'pgsched.executions'::regclass"""


def live_table(connection: psycopg.Connection[Any]) -> dict[str, int]:
    """Bytes of the heap and of the indexes of all partitions together, and the dead rows PostgreSQL knows of."""
    row = connection.execute(_SIZES.encode()).fetchone() or (0, 0, 0)
    return dict(zip(("heap_bytes", "index_bytes", "dead_rows"), row, strict=True))
