"""The parts of the documentation: its files, fenced blocks, links and headings."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^ {0,3}```(?P<language>\S*)\s*$")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SHOP = """
create table orders (id bigint primary key, state text, paid_at timestamptz);
insert into orders (id) values (41), (42);
"""
"""The reader's own table, to which examples write."""
_PRELUDE = re.compile(r"<!-- prelude\n(.*?)-->", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block. ``line`` is the number of its first line in the file."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Returns README, changelog, CONTRIBUTING and everything under docs."""
    named = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")]
    return [*named, *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def blocks_of(page: Path) -> list[Block]:
    """Returns the page's fenced blocks in order. Raises AssertionError if one is not closed."""
    found: list[Block] = []
    language, first, lines = "", 0, list[str]()
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if not inside and fence:
            inside, language, first, lines = True, fence["language"], number + 1, []
        elif inside and line.strip() == "```":
            found.append(Block(page=page, line=first, language=language, text="\n".join(lines)))
            inside = False
        elif inside:
            lines.append(line)
    assert not inside, f"{page.relative_to(ROOT)}:{first}: the block is not closed"
    return found


def blocks(language: str) -> list[Block]:
    """Returns every block of a language on all pages."""
    return [block for page in pages() for block in blocks_of(page) if block.language == language]


def prelude_of(page: Path) -> str:
    """Returns the SQL that a page's examples presuppose: ``SHOP``, and the page's comments ``<!-- prelude … -->``."""
    return SHOP + "\n".join(_PRELUDE.findall(page.read_text(encoding="utf-8")))


def links_of(page: Path) -> list[str]:
    """Returns the targets of the page's links, except those to other sites."""
    found = _LINK.findall(re.sub(r"`[^`\n]*`", "", prose_of(page)))
    return [link for link in found if not link.startswith(("https://", "http://", "mailto:"))]


def anchors_of(page: Path) -> set[str]:
    """Returns the fragments of the page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@cache
def prose_of(page: Path) -> str:
    """Returns the page's text without its fenced blocks."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^ {0,3}```.*?^ {0,3}```\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
