"""Assembles the tutorial's application from its page and runs its tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.fences import ROOT, blocks_of

_PAGE = ROOT / "docs" / "tutorial" / "an-application.md"
_FILE = re.compile(r"# (\S+\.py)\n")


def test_the_tutorial_applications_tests_pass(tmp_path: Path, database_url: str) -> None:
    for block in blocks_of(_PAGE):
        if named := _FILE.match(block.text):
            file = tmp_path / named[1]
            file.parent.mkdir(exist_ok=True)
            file.write_text(block.text + "\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "--rootdir=."],
        cwd=tmp_path,
        env=os.environ | {"DATABASE_URL": database_url, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 passed" in ran.stdout
