"""Whether a database follows another one by logical replication."""

from typing import Any

import psycopg

from pgsched.errors import Conflict

# Everybody may read these columns.
_SUBSCRIPTIONS = """
select distinct s.subname from pg_catalog.pg_subscription s
  join pg_catalog.pg_subscription_rel r on r.srsubid = s.oid
 where s.subenabled
   and r.srrelid in (select t.relid from pg_catalog.pg_partition_tree('pgsched.executions') t)
 order by 1"""


def check_not_following(connection: psycopg.Connection[Any]) -> None:
    """Raises Conflict while executions arrive from another database: the workers there call their targets."""
    if found := [row[0] for row in connection.execute(_SUBSCRIPTIONS)]:
        raise Conflict(
            f"executions arrive here from another database, by the subscription {', '.join(found)}: run workers there,"
            " or stop them and drop the subscription before any begins here"
        )
