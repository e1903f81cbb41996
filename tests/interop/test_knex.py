"""Knex over node-postgres: inserts and function calls in Knex transactions."""

import psycopg

from tests.interop.conftest import Connection, scheduled
from tests.node.running import run


def test_only_committed_inserts_and_function_calls_are_scheduled(webshop: Connection, database_url: str) -> None:
    info = psycopg.conninfo.conninfo_to_dict(database_url)
    connection = {
        "host": info["host"], "port": info["port"], "user": info["user"], "password": info["password"],
        "database": info["dbname"],
    }  # fmt: skip
    answered = run("knex.mjs", {"connection": connection, "role": "webshop_service"})
    assert [row[1] for row in scheduled(webshop)] == [{"order": 1}, [2], {"order": 3}, {"order": 4}]
    ids = webshop.execute("select id::text from pgsched.executions order by fire_at").fetchall()
    assert (ids[0], ids[3]) == ((answered["committed"],), (answered["called"],))
