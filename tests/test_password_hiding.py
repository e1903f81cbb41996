"""Passwords are found and masked, whatever they contain and whatever surrounds them."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.password_hiding import has_password, without_passwords

URL = "postgresql://shop:hush@db.example/shop"
WORDS = st.text("abcxyz019_", min_size=1, max_size=8)


@given(user=WORDS, password=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8), around=WORDS)
def test_a_password_in_a_url_is_always_masked(user: str, password: str, around: str) -> None:
    secret = quote(f"hush{password}", safe="!$&'()*+,;=:._~-")
    for address in (
        f"postgresql://{user}:{secret}@db.example/shop",
        f"http://{user}:{secret}@[::1]:3128",
        f"postgresql://{user}@h/shop?password={quote(f'hush{password}', safe='')}&sslmode=require",
    ):
        for text in (address, f'URI "{address}"', f"{around} {address} {around}", f"error={address}; try again"):
            assert has_password(text)
            assert "hush" not in without_passwords(text)
            assert without_passwords(without_passwords(text)) == without_passwords(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (URL, "postgresql://shop:…@db.example/shop"),
        ("x://a:b@c:1/d and x://e:f@g", "x://a:…@c:1/d and x://e:…@g"),
        ("user=us password='it\\'s' host=h", "user=us password=… host=h"),
        ('{"sasl.password": "a\\"b", "linger.ms": 5}', '{"sasl.password": "…", "linger.ms": 5}'),
    ],
)
def test_masking_a_password_preserves_the_rest_of_the_text(text: str, shown: str) -> None:
    assert has_password(text)
    assert without_passwords(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://shop@db.example:5432/shop?passfile=/run/logins",
        "http://shop.example:8080/mail/ann@shop.example",
        "http://[::1]:8080/?to=ann@shop.example",
        '{"headers": {"authorization": {"secret": "token"}}}',
        "user={role}",
    ],
)
def test_text_without_a_password_is_unchanged(text: str) -> None:
    assert not has_password(text)
    assert without_passwords(text) == text
