"""SQLAlchemy's ORM: a reflected model, with domains mapped to their base types."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOMAIN
from sqlalchemy.orm import DeclarativeBase, Session

from tests.interop.conftest import Connection, scheduled

MINE = ["id", "partition", "client_id", "target", "payload", "fire_at"]


@pytest.fixture
def engine(webshop: Connection, database_url: str) -> Iterator[sa.Engine]:
    address = database_url.replace("postgresql://", "postgresql+psycopg://", 1)
    made = sa.create_engine(address, connect_args={"options": "-c role=webshop_service"})
    yield made
    made.dispose()


def reflected(engine: sa.Engine) -> Any:
    """A model of executions, with the columns that a client may insert."""
    metadata = sa.MetaData()

    @sa.event.listens_for(metadata, "column_reflect")
    def below(_inspector: object, _table: object, column: dict[str, Any]) -> None:
        if isinstance(column["type"], DOMAIN):
            column["type"] = column["type"].data_type

    table = sa.Table("executions", metadata, schema="pgsched", include_columns=MINE, autoload_with=engine)

    class Base(DeclarativeBase):
        pass

    return type("Execution", (Base,), {"__table__": table})


def test_a_row_inserted_by_a_reflected_model_is_scheduled_at_commit(engine: sa.Engine, webshop: Connection) -> None:
    execution = reflected(engine)
    with Session(engine) as session:
        made = execution(
            client_id="webshop", target="https://shop.example/ship", payload={"order": 42}, fire_at=sa.func.now()
        )
        session.add(made)
        session.flush()
        assert scheduled(webshop) == []
        session.commit()
        assert made.payload == {"order": 42}
    assert scheduled(webshop) == [("https://shop.example/ship", {"order": 42}, "webshop")]


def test_inserting_many_rows_schedules_every_row(engine: sa.Engine, webshop: Connection) -> None:
    execution = reflected(engine)
    with Session(engine) as session, session.begin():
        session.add_all(
            execution(client_id="webshop", target="python:ship", payload=[n], fire_at=sa.func.now()) for n in range(3)
        )
    assert sorted(row[1] for row in scheduled(webshop)) == [[0], [1], [2]]  # type: ignore[type-var]


def test_a_rolled_back_insert_is_not_scheduled(engine: sa.Engine, webshop: Connection) -> None:
    with Session(engine) as session:
        session.add(reflected(engine)(client_id="webshop", target="python:ship", fire_at=sa.func.now()))
        session.flush()
        session.rollback()
    assert scheduled(webshop) == []
