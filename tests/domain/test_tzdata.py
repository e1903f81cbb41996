"""The version of the time zone data in use."""

from importlib.metadata import version
from pathlib import Path

import pytest

from pgsched.domain.time_zone import version_in_use


def a_place(directory: Path, **files: str) -> str:
    """Creates a directory of zones as zoneinfo expects it, with the given version files. Returns its path."""
    (directory / "Europe").mkdir(parents=True)
    (directory / "Europe" / "Berlin").write_bytes(b"TZif")
    for name, text in files.items():
        (directory / {"source": "tzdata.zi", "version": "+VERSION"}[name]).write_text(text)
    return str(directory)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"source": "# version 2025b\n# redo posix_only\n"}, "2025b"),
        ({"version": "2026a\n"}, "2026a"),
        ({"source": "# nothing\n", "version": "2026a\n"}, "2026a"),
        ({}, None),
    ],
)
def test_the_version_is_read_from_the_zone_directory(tmp_path: Path, files: dict[str, str], found: str | None) -> None:
    assert version_in_use([a_place(tmp_path / "zones", **files)]) == found


def test_the_first_directory_with_zones_determines_the_version(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "tzdata.zi").write_text("# version 2031a\n")
    places = [str(tmp_path / "missing"), str(empty)]
    places += [a_place(tmp_path / name, version=text) for name, text in (("one", "2025b"), ("two", "2026a"))]
    assert version_in_use(places) == "2025b"


def test_without_a_zone_directory_the_tzdata_packages_version_is_used(tmp_path: Path) -> None:
    year, _, number = version("tzdata").partition(".")
    assert version_in_use([str(tmp_path)]) == f"{year}{chr(ord('a') + int(number.split('.')[0]) - 1)}"


def test_a_tzdata_version_is_found_on_this_machine() -> None:
    assert version_in_use()
