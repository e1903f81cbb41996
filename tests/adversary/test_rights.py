"""Each role has exactly the rights listed in ``rights.txt``.

Before you add a line, check: can the role use this right to reach rows of other clients by id, name or timing, hold a
lock that a worker waits for, forge a result, or learn a secret?

To rewrite the list: PGSCHED_WRITE_RIGHTS=1 pytest tests/adversary/test_rights.py
"""

import os
import re
from pathlib import Path

from tests.adversary.rights_catalog import Connection, owned_by_others, rights

_WRITES = re.compile(r": .*\b(insert|update|delete|truncate|references|trigger|create)\b| attribute: ")
_OWN_COLUMNS = re.compile(r"pgsched_client column pgsched\.(executions|jobs)\.[a-z_]+: (select, )?insert$")
_LIST = Path(__file__).with_name("rights.txt")


def test_the_granted_rights_match_the_checked_in_list(db: Connection) -> None:
    found = rights(db)
    if os.environ.get("PGSCHED_WRITE_RIGHTS"):
        _LIST.write_text("\n".join(found) + "\n", encoding="utf-8")
    assert found == _LIST.read_text(encoding="utf-8").splitlines()


def test_every_database_object_belongs_to_the_owner_role(db: Connection) -> None:
    assert owned_by_others(db) == []


def test_clients_can_insert_into_only_two_tables_and_readers_cannot_write() -> None:
    writes = [line for line in _LIST.read_text(encoding="utf-8").splitlines()
              if line.startswith(("public", "pgsched_client", "pgsched_reader")) and _WRITES.search(line)]  # fmt: skip
    assert [line for line in writes if not _OWN_COLUMNS.match(line)] == []


def test_roles_have_only_the_usage_right_on_the_internal_schema() -> None:
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if " schema pgsched_internal" in line] == [
        "pgsched_client schema pgsched_internal: usage",
        "pgsched_reader schema pgsched_internal: usage",
        "pgsched_api schema pgsched_internal: usage",
        "pgsched_worker schema pgsched_internal: usage",
    ]
