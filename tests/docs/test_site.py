"""The site builds without warnings, has no dead links, and loads nothing from other hosts."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.docs.fences import ROOT


class Page(HTMLParser):
    """The anchors of a page, its links, and the resources that a browser loads for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.links, self.loads = set[str](), list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link":
            self.loads.append(given["href"])
        self.loads += [given["src"]] if "src" in given else []


def test_the_site_builds_without_warnings_and_is_self_contained(tmp_path: Path) -> None:
    """All checks share one test, because building the site takes most of the time."""
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    built = subprocess.run([*command, ROOT / "docs", tmp_path], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in tmp_path.rglob("*.html")}
    assert len(pages) > 80
    assert [
        f"{file.name}: {link}" for file, page in pages.items() for link in page.links if _is_dead(link, file, pages)
    ] == []
    assert [load for page in pages.values() for load in page.loads if urlsplit(load).netloc] == []
    assert [file for file in tmp_path.rglob("*.css") if re.search(r"url\(['\"]?(https?:)?//", file.read_text())] == []
    assert "how-to/deploy" in (tmp_path / "searchindex.js").read_text(encoding="utf-8")
    assert "searchindex.js" in pages[tmp_path / "search.html"].loads


def _is_dead(link: str, file: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme:
        return False
    leads_to = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    return not leads_to.exists() or bool(parts.fragment and unquote(parts.fragment) not in pages[leads_to].ids)
