"""The database and Python say the same of every target: whether it is one, and what a worker needs to deliver it."""

import psycopg
import pytest

from pgsched.domain.capability import needs
from pgsched.domain.target import Scheme
from tests.domain.test_target import BAD, GOOD
from tests.store.store_arrange import Connection, value


def test_every_scheme_is_among_these_targets() -> None:
    assert {scheme for _, scheme, _ in GOOD} == set(Scheme)


def test_both_know_the_same_capability_of_every_target(db: Connection) -> None:
    for target, _, _ in GOOD:
        assert value(db, "select pgsched_internal.capability_of(%s)", [target]) == (needs(target) or target)


def test_what_python_takes_the_database_takes(db: Connection) -> None:
    for target, _, _ in GOOD:
        assert value(db, "select pgsched_internal.check_target(%s)", [target])


def test_what_python_refuses_the_database_refuses(db: Connection) -> None:
    for target, _ in BAD:
        with pytest.raises(psycopg.DatabaseError) as refusal:
            db.execute("select pgsched_internal.check_target(%s)", [target])
        assert refusal.value.sqlstate == "PS001"
