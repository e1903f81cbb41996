"""Secrets from the command line: they come by standard input, never by an argument."""

import json
import subprocess
import sys
from typing import Any

import psycopg
import pytest

from tests.cli.conftest import Run


def pgsched(*words: str, text: str = "", **environment: str) -> Any:
    command = [sys.executable, "-m", "pgsched.cli.main", *words, "--json"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=False)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_a_secret_is_put_listed_sealed_anew_and_dropped(
    run: Run, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSCHED_DATABASE_URL", database_url)
    old, new = (run("secrets", "new-key").output.strip() for _ in range(2))
    there = {"PGSCHED_DATABASE_URL": database_url, "PGSCHED_SECRET_KEYS": old}
    put = [pgsched("secrets", "put", "shop", "token", text="hush-hush\n", **there)["made"] for _ in range(2)]
    assert put == [True, False]
    assert "token" in run("secrets", "list", "shop").output
    monkeypatch.setenv("PGSCHED_SECRET_KEYS", f"{new},{old}")
    assert "1 sealed anew" in run("secrets", "reseal").output
    assert "dropped" in run("secrets", "drop", "shop", "token").output
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select count(*) from pgsched_internal.secrets").fetchone() == (0,)
