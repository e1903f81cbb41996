"""Sealed secrets open only with their key, for their client and name."""

import pytest

from pgsched.errors import InvalidSettings
from pgsched.sealing import CannotOpen, KeyRing, new_key


def ring(*keys: str) -> KeyRing:
    made = KeyRing.parse(",".join(keys))
    assert made is not None
    return made


def test_a_sealed_secret_can_be_opened_and_contains_no_plaintext() -> None:
    mine = ring(new_key())
    sealed = mine.seal("shop", "token", "hush-hush")
    assert mine.open("shop", "token", sealed) == "hush-hush"
    assert b"hush" not in sealed
    assert sealed != mine.seal("shop", "token", "hush-hush")


@pytest.mark.parametrize(("client", "name"), [("mallory", "token"), ("shop", "other"), ("sho", "ptoken")])
def test_a_secret_cannot_be_opened_for_another_client_or_name(client: str, name: str) -> None:
    mine = ring(new_key())
    with pytest.raises(CannotOpen):
        mine.open(client, name, mine.seal("shop", "token", "hush"))


@pytest.mark.parametrize("at", [0, 1, 10, 25, -1])
def test_a_modified_secret_cannot_be_opened(at: int) -> None:
    mine = ring(new_key())
    sealed = bytearray(mine.seal("shop", "token", "hush"))
    sealed[at] ^= 1
    with pytest.raises(CannotOpen):
        mine.open("shop", "token", bytes(sealed))


def test_secrets_are_sealed_with_the_newest_key_and_opened_with_any_key() -> None:
    old, new = new_key(), new_key()
    sealed = ring(old).seal("shop", "token", "hush")
    both = ring(new, old)
    assert both.open("shop", "token", sealed) == "hush"
    assert not both.is_newest(sealed)
    assert both.is_newest(both.seal("shop", "token", "hush"))
    with pytest.raises(CannotOpen, match="not in secret_keys"):
        ring(new).open("shop", "token", sealed)


@pytest.mark.parametrize("text", ["hush-hush", "aHVzaC1odXNo", "A" * 43 + "=,hush-hush"])
def test_an_invalid_secret_key_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InvalidSettings, match="new-key") as refused:
        KeyRing.parse(text)
    assert "hush" not in str(refused.value)


def test_an_empty_list_of_secret_keys_gives_no_key_ring() -> None:
    assert KeyRing.parse(" , ") is None
