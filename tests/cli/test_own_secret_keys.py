"""The key for secrets that `pgsched up` creates and that commands in the same directory find."""

import stat
from importlib import util
from pathlib import Path

import pytest

from pgsched.cli.own_secret_keys import kept_keys, own_secret_keys
from pgsched.cli.settings_flags import load_settings
from pgsched.sealing import KeyRing, new_key

THERE = Path(".pgsched")


def test_the_secret_key_is_generated_once_and_private_to_the_owner() -> None:
    made = own_secret_keys(THERE)
    assert KeyRing.parse(made) is not None
    assert (own_secret_keys(THERE), kept_keys(THERE)) == (made, made)
    assert [stat.S_IMODE(file.stat().st_mode) for file in THERE.iterdir()] == [0o600]


def test_the_first_of_two_simultaneously_generated_secret_keys_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    import pgsched.cli.own_secret_keys as module

    other = new_key()

    def beaten() -> str:
        (THERE / "secret-keys").write_text(other)
        return new_key()

    monkeypatch.setattr(module, "new_key", beaten)
    assert own_secret_keys(THERE) == other
    assert [file.name for file in THERE.iterdir()] == ["secret-keys"]


def test_commands_use_the_generated_secret_key_unless_keys_are_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings({}).secret_keys == ""
    made = own_secret_keys(THERE)
    assert load_settings({}).secret_keys == made
    assert load_settings({"data_dir": "elsewhere"}).secret_keys == ""
    monkeypatch.setenv("PGSCHED_SECRET_KEYS", "mine")
    assert load_settings({}).secret_keys == "mine"


def test_no_secret_key_is_generated_without_the_cryptography_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgsched.cli.own_secret_keys.find_spec", lambda name: None if name == "cryptography" else util)
    assert own_secret_keys(THERE) == ""
    assert not THERE.exists()
