from collections.abc import Iterator

import pytest
from psycopg import sql

from tests.store.admin.test_roles import acting, login_role
from tests.store.store_arrange import Connection


@pytest.fixture
def payments(db: Connection, store_url: str) -> Iterator[Connection]:
    """A session of the login role that is the client payments."""
    role = login_role(db, "pgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('payments', %s)", [role])
    with acting(store_url, role) as session:
        yield session
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
