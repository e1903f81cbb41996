"""pgsched writes files only in its own user's directories, and never through links."""

import asyncio
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pgsched.cli.history import _write as write_archive
from pgsched.cli.own_api_key import _write as write_own_key
from pgsched.cli.own_secret_keys import _write as write_secret_keys
from pgsched.embedded import EmbeddedPostgres
from pgsched.embedded.data_directory_lock import hold_lock
from pgsched.errors import EmbeddedPostgresError, InvalidInput
from pgsched.own_files import make_directory, open_own, write_own
from pgsched.store.admin.up_logins import _entries as logins_in

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")


def _archive(directory: Path) -> None:
    make_directory(directory, "another directory")


def _embedded(directory: Path) -> None:
    EmbeddedPostgres(directory).start()


@only_root
@pytest.mark.parametrize("begins", [_archive, _embedded])
@pytest.mark.parametrize("whose", ["own/data", "own", "."])
def test_a_data_directory_under_another_users_directory_is_refused(
    tmp_path: Path, begins: Callable[[Path], object], whose: str
) -> None:
    (tmp_path / "home" / "own" / "data").mkdir(parents=True)
    os.chown(tmp_path / "home" / whose, 12345, 12345)
    with pytest.raises((InvalidInput, EmbeddedPostgresError), match="belongs to user 12345"):
        begins(tmp_path / "home" / "own" / "data")
    assert [*(tmp_path / "home" / "own" / "data").iterdir()] == []


@only_root
def test_another_users_link_to_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "etc")
    os.chown(tmp_path / "data", 12345, 12345, follow_symlinks=False)
    with pytest.raises(InvalidInput, match="belongs to user 12345"):
        _archive(tmp_path / "data")


def _logins(file: Path) -> None:
    with logins_in(file) as entries:
        entries["pgsched_api"] = "secret"


async def _archived(file: Path) -> None:
    nobody_is_asked: Any = None
    await write_archive(nobody_is_asked, "history", date(2026, 3, 1), file.with_suffix(".csv"))


_WRITES: dict[str, Callable[[Path], Any]] = {
    "logins": _logins,
    "authorization": lambda file: write_own_key(file, "a key"),
    "history.partial": lambda file: asyncio.run(_archived(file)),
    "lock": lambda file: hold_lock(file.parent),
    "port": lambda file: write_own(file, "5432"),
    "postgres.log": lambda file: os.close(open_own(file, append=True)),
}


@pytest.mark.parametrize("name", _WRITES)
@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_in_place_of_a_file_is_not_followed(tmp_path: Path, name: str, exists: bool) -> None:
    precious = tmp_path / "precious"
    if exists:
        precious.write_text("kept")
    (tmp_path / name).symlink_to(precious)
    with pytest.raises(OSError):  # noqa: PT011
        _WRITES[name](tmp_path / name)
    assert precious.read_text() == "kept" if exists else not precious.exists()


@only_root
@pytest.mark.parametrize("name", _WRITES)
def test_another_users_file_is_not_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("theirs")
    os.chown(tmp_path / name, 12345, 12345)
    with pytest.raises(InvalidInput, match="belongs to user 12345"):
        _WRITES[name](tmp_path / name)
    assert (tmp_path / name).read_text() == "theirs"


def test_a_logins_file_readable_by_others_is_restricted_to_the_owner(tmp_path: Path) -> None:
    (tmp_path / "logins").touch(mode=0o644)
    _logins(tmp_path / "logins")
    assert (tmp_path / "logins").stat().st_mode & 0o777 == 0o600


def test_a_symbolic_link_in_place_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / f"secret-keys.{os.getpid()}").symlink_to(precious)
    with pytest.raises(OSError):  # noqa: PT011
        write_secret_keys(tmp_path / "secret-keys", "a key")
    assert precious.read_text() == "kept"
