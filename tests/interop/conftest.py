"""A service's role that may only schedule for its client."""

import psycopg
import pytest

Connection = psycopg.Connection[tuple[object, ...]]
_MAKE = """
do $$ begin
  if to_regrole('webshop_service') is null then create role webshop_service in role pgsched_client; end if;
end $$;
insert into pgsched.clients (client_id, database_role) values ('webshop', 'webshop_service')"""


@pytest.fixture
def webshop(db: Connection) -> Connection:
    """A connection of the database's owner; ``webshop_service`` is the role of the client ``webshop``."""
    db.execute(_MAKE)
    return db


def scheduled(db: Connection) -> list[tuple[object, ...]]:
    """The committed targets, payloads and clients, in the order of their instants."""
    return db.execute("select target, payload, client_id from pgsched.executions order by fire_at").fetchall()
