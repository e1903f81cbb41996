"""The documentation is correct: examples run or are checked, links resolve, and settings and commands exist."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from litestar import Litestar

from pgsched.api.app import create_app
from pgsched.cli.settings_sources import load
from pgsched.settings import Settings
from tests.docs.console import check, commands_of
from tests.docs.fences import ROOT, SHOP, Block, anchors_of, blocks, blocks_of, links_of, pages, prelude_of
from tests.node.running import node

# A block without a language, or with the language text, shows a program's output.
_LANGUAGES = {"sql", "python", "js", "ts", "go", "php", "ruby", "console", "toml", "json", "yaml", "text", ""}
_OF_ONE_MACHINE = re.compile(r"(?<![\w.:/-])/(?:work|root|home|tmp|Users)/|\b(?:pypi|pythonhosted|npmjs)\.(?:org|com)")
_TRANSACTION = re.compile(r"^\s*(?:begin|commit|rollback)\s*;\s*$", re.MULTILINE | re.IGNORECASE)


def _with(language: str) -> list[Path]:
    return [page for page in pages() if any(block.language == language for block in blocks_of(page))]


def _named(value: Path | Block) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


def _runs(block: Block) -> bool:
    return block.text.startswith("# runs\n")


@pytest.fixture(scope="module")
def api() -> Litestar:
    """The API's routes and OpenAPI document, which need no database."""
    return create_app(Settings(database_url="postgresql://nobody@127.0.0.1:1/nothing"))


@pytest.fixture(scope="module")
def shared(module_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the pages' database, in which each page is rolled back."""
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield connection


def test_every_code_block_is_in_a_language_that_is_checked() -> None:
    found = [block for page in pages() for block in blocks_of(page)]
    assert [f"{block}: {block.language!r}" for block in found if block.language not in _LANGUAGES] == []


@pytest.mark.parametrize("page", _with("yaml"), ids=_named)
def test_yaml_blocks_parse(page: Path) -> None:
    for block in blocks_of(page):
        assert block.language != "yaml" or list(yaml.safe_load_all(block.text))


@pytest.mark.parametrize("page", _with("sql"), ids=_named)
def test_a_pages_sql_blocks_run_in_order(page: Path, shared: psycopg.Connection[Any]) -> None:
    with shared.transaction(force_rollback=True):
        shared.execute(prelude_of(page).encode())
        for block in blocks_of(page):
            if block.language == "sql":
                _run_sql(shared, block)


def _run_sql(db: psycopg.Connection[Any], block: Block) -> None:
    try:
        with db.transaction():
            db.execute(_TRANSACTION.sub("", block.text).encode())
        db.execute("reset role")
    except psycopg.Error as error:
        pytest.fail(f"{block}: {error}")


@pytest.mark.parametrize("block", blocks("python"), ids=_named)
def test_python_blocks_compile(block: Block) -> None:
    compile(block.text, str(block), "exec")


@pytest.mark.parametrize("block", blocks("js"), ids=_named)
def test_javascript_blocks_compile(block: Block, tmp_path: Path) -> None:
    script = tmp_path / "example.mjs"
    script.write_text(block.text, encoding="utf-8")
    node("--check", str(script))


@pytest.mark.parametrize("page", [page for page in _with("python") if any(map(_runs, blocks_of(page)))], ids=_named)
def test_python_blocks_marked_as_runnable_run_without_errors(
    page: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = [block for block in blocks_of(page) if block.language == "python" and _runs(block)]
    if any("DATABASE_URL" in block.text for block in running):
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("database_url"))
        request.getfixturevalue("db").execute(SHOP)
    for block in running:
        exec(compile(block.text, str(block), "exec"), {"__name__": "example"})


@pytest.mark.parametrize("block", blocks("console"), ids=_named)
def test_commands_in_console_blocks_are_valid(block: Block, api: Litestar) -> None:
    for command in commands_of(block):
        check(command, api)


@pytest.mark.parametrize("block", blocks("toml"), ids=_named)
def test_toml_blocks_contain_valid_settings(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "pgsched.toml"
    file.write_text(block.text, encoding="utf-8")
    load(flags={}, environment={}, file=file)


@pytest.mark.parametrize("block", blocks("json"), ids=_named)
def test_a_json_block_is_one_value_or_one_value_per_line(block: Block) -> None:
    try:
        json.loads(block.text)
    except json.JSONDecodeError:
        for line in block.text.splitlines():
            json.loads(line)


def test_links_between_pages_resolve() -> None:
    wrong = []
    for page, link in [(one, link) for one in pages() for link in links_of(one)]:
        path, _, fragment = link.partition("#")
        leads_to = (page.parent / path).resolve() if path else page
        if not leads_to.exists():
            wrong.append(f"{_named(page)}: {link} leads nowhere")
        elif fragment and fragment not in anchors_of(leads_to):
            wrong.append(f"{_named(page)}: {link} names no heading")
    assert wrong == []


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links_of(index)}
    assert set((ROOT / "docs").rglob("*.md")) - {index} - linked == set()


def test_no_page_mentions_machine_specific_paths_or_registries() -> None:
    said = {_named(page): _OF_ONE_MACHINE.findall(page.read_text(encoding="utf-8")) for page in pages()}
    assert {page: found for page, found in said.items() if found} == {}
