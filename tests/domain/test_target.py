import pytest

from pgsched.domain.target import Scheme, parse_target, without_port
from pgsched.errors import InvalidTarget

GOOD = [
    ("https://shop.example/settle", Scheme.HTTPS, "shop.example"),
    ("http://localhost:8080/a?b=c%20d&e", Scheme.HTTP, "localhost"),
    ("HTTPS://Shop.Example", Scheme.HTTPS, "Shop.Example"),
    ("http://10.0.0.1?x", Scheme.HTTP, "10.0.0.1"),
    ("http://[::1]:8080/", Scheme.HTTP, "[::1]"),
    ("https://shop.example:65535/", Scheme.HTTPS, "shop.example"),
    ("https://shop.example/a@b:c", Scheme.HTTPS, "shop.example"),
    ("python:send_email", Scheme.PYTHON, "send_email"),
    ("python:shop.tasks:settle-now", Scheme.PYTHON, "shop.tasks:settle-now"),
    ("sql:billing.settle", Scheme.SQL, "billing.settle"),
    ("notify:orders", Scheme.NOTIFY, "orders"),
    ("queue:", Scheme.QUEUE, ""),
    ("kafka:orders.v1", Scheme.KAFKA, "orders.v1"),
]


@pytest.mark.parametrize(("text", "scheme", "name"), GOOD)
def test_a_target_says_what_is_called_and_how(text: str, scheme: Scheme, name: str) -> None:
    target = parse_target(text)
    assert (target.scheme, target.name, target.text) == (scheme, name, text)


BAD = [
    ("", "write one such as https://"),
    ("shop.example", "write one of https://host/path, python:name"),
    ("ftp://shop.example", "write one of https://host/path, python:name"),
    ("javascript:alert(1)", "write one of https://host/path, python:name"),
    ("https:", "names no host: write https://host"),
    ("https:///settle", "names no host"),
    ("https://:8080/", "names no host"),
    ("https://?a=b", "names no host"),
    ("https://user:secret@shop.example/", "put credentials into options"),
    ("https://token@shop.example/", "put credentials into options"),
    ("https://shop.example/a#b", "fragment"),
    ("https://shop.example#b", "fragment"),
    ("https://shop.example/a b", "white space"),
    (" https://shop.example/", "white space"),
    ("https://shop.example/\n", "white space"),
    ("https://shöp.example/", "percent-encoded ASCII"),
    ("https://shop.example/ä", "percent-encoded ASCII"),
    ("https://-shop.example/", "not a URL"),
    ("https://shop.example:/", "not a URL"),
    ("https://shop.example:http/", "not a URL"),
    ("https://shop.example\\@evil.example/", "user or password"),
    ("https://shop.example:0/", "port 0 is not from 1 to 65535"),
    ("https://shop.example:65536/", "port 65536 is not from 1 to 65535"),
    ("https://shop.example/" + "x" * 2048, "longer than 2048"),
    ("python:", "write python:send_email"),
    ("python:send email", "white space"),
    ("python:1st", "write python:send_email"),
    ("PYTHON:work", "write python:work"),
    ("sql:settle", "sql:billing.settle"),
    ("sql:billing.settle(1)", "sql:billing.settle"),
    ("notify:", "notify:orders"),
    ("queue:orders", "write queue: alone"),
    ("kafka:", "kafka:orders"),
]


@pytest.mark.parametrize(("text", "says"), BAD)
def test_a_target_that_cannot_be_called_is_refused_with_what_to_write(text: str, says: str) -> None:
    with pytest.raises(InvalidTarget) as refused:
        parse_target(text)
    assert says in str(refused.value)


def test_a_refusal_never_repeats_a_password() -> None:
    with pytest.raises(InvalidTarget) as refused:
        parse_target("https://user:secret@shop.example/")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("shop.example", "shop.example"),
        ("shop.example:8443", "shop.example"),
        ("[::1]:8080", "[::1]"),
        ("[::1]", "[::1]"),
        ("::1", "::1"),
        ("shop.example:https", "shop.example:https"),
    ],
)
def test_a_host_is_told_from_its_port(host: str, alone: str) -> None:
    assert without_port(host) == alone
