"""Reflecting pgsched's tables in an application: each domain column is mapped to its base type."""

from typing import Any

import psycopg
from sqlalchemy import MetaData, Table, create_engine, event, func, insert
from sqlalchemy.dialects.postgresql import DOMAIN
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.pool import NullPool


class Base(DeclarativeBase):
    metadata = MetaData(schema="pgsched")


@event.listens_for(Base.metadata, "column_reflect")
def _as_what_it_is_made_of(inspector: Any, table: Table, column: Any) -> None:
    if isinstance(column["type"], DOMAIN):
        column["type"] = column["type"].data_type


def test_a_reflected_model_accepts_dicts_in_json_columns(database_url: str, db: psycopg.Connection[Any]) -> None:
    engine = create_engine(database_url.replace("postgresql://", "postgresql+psycopg://", 1), poolclass=NullPool)

    class Execution(Base):
        __table__ = Table("executions", Base.metadata, autoload_with=engine)

    with Session(engine) as session:
        given = {"target": "python:settle", "payload": {"order": 42}, "options": {"timeout": "5s"}}
        session.execute(insert(Execution).values(fire_at=func.now(), **given))
        session.commit()
    found = db.execute("select payload, options from pgsched.executions").fetchall()
    assert found == [({"order": 42}, {"timeout": "5s"})]
