"""``pgsched admin keys``, and an API without keys."""

import json
from typing import Any

import pytest

from pgsched.api.server import serve
from pgsched.domain.api_key import Token
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings
from tests.cli.conftest import Run
from tests.conftest import Connection, at
from tests.store.store_arrange import column, row


def test_an_api_key_can_be_created_listed_rotated_limited_and_revoked(
    run: Run, database_url: str, db: Connection
) -> None:
    def keys(*words: str) -> Any:
        return json.loads(run("admin", "keys", *words, "--json", env=at(database_url)).stdout)

    made = keys("create", "shop", "--client", "shop", "--scope", "read", "--actor", "ann")
    token = Token.parse(made["token"])
    assert token is not None
    assert token.id == made["id"]
    kept = "select hash, subject, clients, scopes from pgsched_internal.api_keys"
    assert row(db, kept) == (token.hash, "shop", ["shop"], ["read"])
    rotated = Token.parse(keys("rotate", token.id, "--keep-for", "1h")["token"])
    assert rotated is not None
    assert rotated.id == token.id
    assert row(db, "select hash, former_hash from pgsched_internal.api_keys") == (rotated.hash, token.hash)
    for changed in (True, False):
        limited = keys("limit", token.id, "--rate", "5")
        assert limited == {"id": token.id, "changed": changed}
    for changed in (True, False):
        assert keys("revoke", token.id) == {"id": token.id, "changed": changed}
    [item] = keys("list")["items"]
    assert (item["id"], item["revoked_at"] is None, item["rate"]) == (token.id, False, 5)
    assert column(db, "select actor from pgsched.audit_log where action = 'create key'") == ["ann"]


def test_creating_an_api_key_prints_only_its_token_to_standard_output(run: Run, database_url: str) -> None:
    made = run("admin", "keys", "create", "ann", "--scope", "admin", env=at(database_url))
    assert Token.parse(made.stdout.strip()) is not None
    assert "not shown again" in made.stderr


@pytest.mark.parametrize(
    "words", [["--scope", "everything"], [], ["--scope", "read", "--expires-at", "2001-01-01T00:00:00Z"]]
)
def test_creating_an_api_key_with_invalid_flags_is_refused(run: Run, database_url: str, words: list[str]) -> None:
    assert run("admin", "keys", "create", "ann", *words, env=at(database_url)).exit_code == 2


def test_an_api_that_has_no_api_keys_starts_only_on_loopback(database_url: str) -> None:
    with pytest.raises(InvalidSettings, match="there is no key"):
        serve(Settings(database_url=database_url, host="0.0.0.0", port=0))
