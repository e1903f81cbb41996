"""Each SQL statement has its own file. No file is unused, and no Python module contains SQL."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pgsched
from pgsched.domain.histogram import BUCKETS

_PACKAGE = Path(pgsched.__file__).parent
_STATEMENTS = _PACKAGE / "store" / "statements"
_SQL = re.compile(
    r"\s*(--.*\n\s*)*(select|insert into|update|delete from|with \w+ as|lock table|create (table|role|schema|database)"
    r"|alter|drop|grant|do \$|set \w+ =|copy|listen|truncate|vacuum)\s+[('{$%\w]",
)
# These set session settings or insert names, which cannot be parameters.
_ALLOWED = {
    f"store/{name}.py"
    for name in (
        "core/session_settings",
        "core/listening",
        "admin/up_logins",
        "admin/interface_replacement",
        "admin/indexes",
    )
}
_CALL = re.compile(r"select (\*|[\w, ]+)?\s*(from )?pgsched\w*\.\w+ ?\((%\(\w+\)s(::[\w\[\]]+)?|[\w, =>])*\)( \w+)?")
_SENT_OTHERWISE = {"ends/call_target", "gates/try_gates", "gates/try_orderings", "jobs/crowding"}
"""Statements on the hot path that are sent in a pipeline, or answered in binary or as an array."""
_TRIVIAL = {"select 1", "do 'begin end'"}
_NO_SQL = {"delivery/sql.py", "domain/recurrence_rules.py", "cli/welcome.py"}  # prose that looks like SQL


def texts(module: Path) -> Iterator[str]:
    """Yield the strings of a module, except docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def names() -> list[str]:
    return sorted(path.relative_to(_STATEMENTS).with_suffix("").as_posix() for path in _STATEMENTS.rglob("*.sql"))


def test_only_listed_python_modules_contain_sql_statements() -> None:
    modules = {path.relative_to(_PACKAGE).as_posix(): path for path in sorted(_PACKAGE.rglob("*.py"))}
    found = [
        f"{name}: {text[:60]!r}"
        for name, path in modules.items()
        if name not in _ALLOWED | _NO_SQL and not name.startswith("bench/")
        for text in texts(path)
        if _SQL.match(text) and text not in _TRIVIAL
    ]
    assert found == []


def test_every_statement_file_is_used() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in _PACKAGE.rglob("*.py"))
    assert [name for name in names() if f'"{name}"' not in source] == []


def test_only_listed_statement_files_are_bare_function_calls() -> None:
    bare = [name for name in names() if _CALL.fullmatch(_without_comments(name))]
    assert bare == sorted(_SENT_OTHERWISE)


def _without_comments(name: str) -> str:
    text = (_STATEMENTS / f"{name}.sql").read_text(encoding="utf-8")
    return " ".join(line.strip() for line in text.splitlines() if not line.startswith("--"))


def test_each_statement_file_begins_with_a_comment() -> None:
    texts = {name: (_STATEMENTS / f"{name}.sql").read_text(encoding="utf-8") for name in names()}
    assert [name for name, text in texts.items() if not re.match(r"-- [A-Za-z][^\n]+", text)] == []
    assert [name for name, text in texts.items() if not text.endswith("\n")] == []


@pytest.mark.parametrize("name", ["core/clauses", "lookup/objectives"])
def test_histogram_statements_sum_every_bucket(name: str) -> None:
    text = (_STATEMENTS / f"{name}.sql").read_text(encoding="utf-8")
    added = re.findall(r"sum\(r\.(\w+)\[(\d+)\]\)", text)
    assert added
    for column in {column for column, _ in added}:
        assert [int(place) for one, place in added if one == column] == list(range(1, len(BUCKETS) + 2))
