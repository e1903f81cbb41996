"""What a release consists of: the wheel and the source distribution, built and installed as a user does it."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from pgsched.version import __version__
from tests.docs.fences import ROOT

_UV = str(Path(sys.executable).with_name("uv"))
_NOT_INSTALLED = {"__pycache__"}


def _run(*words: str | Path, **options: str) -> str:
    environment = os.environ | {"UV_LINK_MODE": "copy"}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both; the wheel is built from the source distribution, as by whoever builds it anew."""
    place = tmp_path_factory.mktemp("dist")
    _run(_UV, "build", "--quiet", "--out-dir", place, ROOT)
    return place


def _files_of(package: Path) -> set[str]:
    found = (file.relative_to(package.parent) for file in package.rglob("*") if file.is_file())
    return {str(file) for file in found if not _NOT_INSTALLED & set(file.parts)}


def test_the_wheel_has_all_of_the_package_and_the_migrations_and_nothing_else(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    migrations = {f"pgsched/{name}" for name in _files_of(ROOT / "migrations")}
    assert names == _files_of(ROOT / "pgsched") | migrations
    assert wheel.stat().st_size < 2_000_000


def test_the_source_has_what_builds_tests_and_documents_it(built: Path) -> None:
    [source] = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"][
        "include"
    ]
    wanted = {*included, "pyproject.toml", "README.md", "docker/Dockerfile", "docker/helm/pgsched/Chart.yaml"}
    assert {name for name in wanted if not any(one == name or one.startswith(f"{name}/") for one in names)} == set()


def test_an_installed_release_runs_away_from_its_source(built: Path, tmp_path: Path) -> None:
    [wheel] = built.glob("*.whl")
    python = tmp_path / "venv" / "bin" / "python"
    _run(_UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv")
    _run(_UV, "pip", "install", "--quiet", "--python", python, wheel)
    assert _run(python.with_name("pgsched"), "--version") == f"pgsched {__version__}\n"
    asked = "from pgsched.store.admin.revisions import expected_revision; print(expected_revision())"
    assert _run(python, "-I", "-c", asked).strip()
    assert "complete -o nosort -F" in _run(python.with_name("pgsched"), "completion", "bash")
