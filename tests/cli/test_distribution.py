"""The wheel and the source distribution, built and installed as a user does.

The wheel is a library, so tests install it with the oldest packages it allows and beside other applications.
"""

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from pgsched.version import __version__
from tests.conftest import at
from tests.docs.fences import ROOT

_UV = str(Path(sys.executable).with_name("uv"))
_NOT_INSTALLED = {"__pycache__"}
_BESIDE = Path(__file__).parents[1] / "beside"
_MOST_PACKAGES = 26
_OF_EXTRAS = (
    *("pgsched.api", "pgsched.cli.declared_yaml", "pgsched.cli.top_frame", "pgsched.metrics.exposition"),
    *("pgsched.metrics.serving", "pgsched.delivery.tracing_channel", "pgsched.spans", "pgsched.testing.fixtures"),
)
_NOT_IMPORTED = """
import json, pkgutil, importlib, pgsched

missing = []
for module in pkgutil.walk_packages(pgsched.__path__, "pgsched.", onerror=missing.append):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        assert not error.name.startswith("pgsched"), error
        missing.append(module.name)
print(json.dumps(missing))
"""


def _run(*words: str | Path, **options: str) -> str:
    environment = os.environ | {"UV_LINK_MODE": "copy"} | options
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the source distribution and the wheel built from it."""
    place = tmp_path_factory.mktemp("dist")
    _run(_UV, "build", "--quiet", "--out-dir", place, ROOT)
    return place


def _files_of(package: Path) -> set[str]:
    found = (file.relative_to(package.parent) for file in package.rglob("*") if file.is_file())
    return {str(file) for file in found if not _NOT_INSTALLED & set(file.parts)}


def test_the_wheel_contains_exactly_the_package_and_the_migrations(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    migrations = {f"pgsched/{name}" for name in _files_of(ROOT / "migrations")}
    assert names == _files_of(ROOT / "pgsched") | migrations
    assert wheel.stat().st_size < 2_000_000


def test_the_source_archive_contains_all_build_test_and_docs_files(built: Path) -> None:
    [source] = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"][
        "include"
    ]
    wanted = {*included, "pyproject.toml", "README.md", "docker/Dockerfile", "docker/helm/pgsched/Chart.yaml"}
    assert {name for name in wanted if not any(one == name or one.startswith(f"{name}/") for one in names)} == set()


_OLDEST: list[str | Path] = ["--resolution", "lowest-direct", "--requirement", ROOT / "pyproject.toml"]


def _installed(built: Path, place: Path, *how: str | Path) -> Path:
    """Installs the wheel in a new environment and returns its Python."""
    [wheel] = built.glob("*.whl")
    python = place / "bin" / "python"
    _run(_UV, "venv", "--quiet", "--python", sys.executable, place)
    _run(_UV, "pip", "install", "--quiet", "--python", python, *how, wheel)
    return python


@pytest.fixture(scope="module")
def library(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with only the wheel and its dependencies."""
    return _installed(built, tmp_path_factory.mktemp("library") / "venv")


def test_an_application_runs_with_the_newest_packages(library: Path, empty_database_url: str) -> None:
    _run(library, "-I", _BESIDE / "application.py", **at(empty_database_url))


def test_an_application_runs_with_the_oldest_packages(built: Path, tmp_path: Path, empty_database_url: str) -> None:
    python = _installed(built, tmp_path / "venv", *_OLDEST)
    _run(python, "-I", _BESIDE / "application.py", **at(empty_database_url))


@pytest.mark.parametrize("name", ["fastapi", "django", "flask"])
def test_the_wheel_installs_beside_applications_pinned_packages(name: str, built: Path, library: Path) -> None:
    """Only resolves versions. Other tests run an application with the oldest and with the newest packages."""
    [wheel] = built.glob("*.whl")
    pins = _BESIDE / f"{name}.txt"
    _run(_UV, "pip", "install", "--quiet", "--dry-run", "--python", library, "--requirement", pins, wheel)


def test_the_library_has_few_dependencies_and_no_server_packages(library: Path) -> None:
    listed = json.loads(_run(_UV, "pip", "list", "--format", "json", "--python", library))
    names = {one["name"] for one in listed}
    assert names & {"litestar", "uvicorn", "jinja2", "prometheus-client", "pyyaml", "faker"} == set()
    assert len(names) <= _MOST_PACKAGES, names


def test_only_modules_of_extras_need_optional_packages(library: Path) -> None:
    """The library and the commands must stay importable without extras."""
    found = json.loads(_run(library, "-I", "-c", _NOT_IMPORTED))
    assert found
    assert [name for name in found if not name.startswith(_OF_EXTRAS)] == []


@pytest.mark.parametrize(
    ("words", "needed", "named"),
    [
        (["api"], "server", "pgsched api"),
        (["up"], "server", "pgsched up"),
        (["worker", "--metrics", "127.0.0.1:0"], "server", "metrics"),
        (["apply", "jobs.yaml"], "server", "YAML"),
        (["worker", "--tracing"], "tracing", "tracing"),
    ],
)
def test_a_command_whose_extra_is_missing_says_what_to_install(
    library: Path, words: list[str], needed: str, named: str, database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.yaml").write_text("jobs: []")
    command = [str(library.with_name("pgsched")), *words]
    environment = os.environ | at(database_url)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode in (1, 2)
    assert done.stderr.splitlines()[-1].startswith(f"error: {named} needs an extra: pip install 'pgsched[{needed}]'")


def test_an_installed_release_runs_without_its_source(library: Path) -> None:
    assert _run(library.with_name("pgsched"), "--version") == f"pgsched {__version__}\n"
    asked = "from pgsched.store.admin.schema_revisions import expected_revision; print(expected_revision())"
    assert _run(library, "-I", "-c", asked).strip()
    assert "complete -o nosort -F" in _run(library.with_name("pgsched"), "completion", "bash")
