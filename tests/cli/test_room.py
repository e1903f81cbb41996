"""Commands that make tables say where the server has too little room for the locks of those who read them."""

from pathlib import Path

from pgsched.embedded import EmbeddedPostgres
from tests import conftest
from tests.cli.conftest import Run

_SMALL = {"max_connections": "20", "max_locks_per_transaction": "64", "fsync": "off", "shared_buffers": "16MB"}


def test_a_server_with_little_room_for_locks_is_told_what_to_set(run: Run, tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "small", bin_dir=conftest.tested_bin_dir(), settings=_SMALL) as server:
        for words in (["migrate"], ["queues", "create", "orders"]):
            result = run(*words, "--database-url", server.url)
            assert result.exit_code == 0, result.output
            assert "set max_locks_per_transaction = " in result.stderr


def test_a_server_with_room_is_told_nothing(run: Run, database_url: str) -> None:
    result = run("migrate", "--database-url", database_url)
    assert (result.exit_code, result.stderr) == (0, "")
