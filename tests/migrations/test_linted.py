"""squawk finds changes that would block a busy database, such as an index that blocks writers or a column that
rewrites its table."""

import subprocess
import sys
from pathlib import Path

import pytest

from pgsched.store.admin.schema_revisions import migrations_dir

_SQUAWK = Path(sys.executable).with_name("squawk")


def _lint(*versions: Path) -> "subprocess.CompletedProcess[str]":
    settings = migrations_dir() / "squawk.toml"
    words: list[str | Path] = [_SQUAWK, "--config", settings, "--reporter", "gcc", *versions]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_no_migration_has_lint_findings() -> None:
    linted = _lint(*sorted((migrations_dir() / "versions").glob("*.sql")))
    assert (linted.returncode, linted.stdout) == (0, "")


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("create index late on pgsched.executions (created_at);", "require-concurrent-index-creation"),
        ("alter table pgsched.jobs add column spent bigint not null;", "adding-required-field"),
        ("alter table pgsched.jobs add column seed float8 default random();", "adding-field-with-default"),
        ("alter table pgsched.jobs add constraint sane check (runs > 0);", "constraint-missing-not-valid"),
        ("alter table pgsched.jobs alter column runs type bigint;", "changing-column-type"),
        ("alter table pgsched.jobs rename column runs to ran;", "renaming-column"),
        ("alter table pgsched.jobs drop column runs;", "ban-drop-column"),
    ],
)
def test_the_linter_reports_changes_that_block_clients(tmp_path: Path, sql: str, rule: str) -> None:
    version = tmp_path / "0002_later.sql"
    version.write_text(sql)
    linted = _lint(version)
    assert linted.returncode == 1
    assert rule in linted.stdout
