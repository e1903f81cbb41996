import pytest

from pgsched.domain.gate import host_of
from pgsched.domain.target import Scheme, canonical_host, parse_target, without_port
from pgsched.errors import InvalidTarget

GOOD = [
    ("https://shop.example/settle", Scheme.HTTPS, "shop.example"),
    ("http://localhost:8080/a?b=c%20d&e", Scheme.HTTP, "localhost"),
    ("HTTPS://Shop.Example", Scheme.HTTPS, "shop.example"),
    ("http://10.0.0.1?x", Scheme.HTTP, "10.0.0.1"),
    ("http://[::1]:8080/", Scheme.HTTP, "[::1]"),
    ("https://shop.example:65535/", Scheme.HTTPS, "shop.example"),
    ("https://shop.example/a@b:c", Scheme.HTTPS, "shop.example"),
    ("https://shop.example./a..b", Scheme.HTTPS, "shop.example"),
    ("https://1a.2b.example0/", Scheme.HTTPS, "1a.2b.example0"),
    ("http://0x7g/", Scheme.HTTP, "0x7g"),
    ("http://255.0.10.99.:08080/", Scheme.HTTP, "255.0.10.99"),
    ("http://[2001:DB8::1:0:0:1]/", Scheme.HTTP, "[2001:db8::1:0:0:1]"),
    ("http://[::]/", Scheme.HTTP, "[::]"),
    ("python:send_email", Scheme.PYTHON, "send_email"),
    ("python:shop.tasks:settle-now", Scheme.PYTHON, "shop.tasks:settle-now"),
    ("sql:billing.settle", Scheme.SQL, "billing.settle"),
    ("notify:orders", Scheme.NOTIFY, "orders"),
    ("queue:", Scheme.QUEUE, ""),
    ("kafka:orders.v1", Scheme.KAFKA, "orders.v1"),
]


@pytest.mark.parametrize(("text", "scheme", "name"), GOOD)
def test_a_target_parses_into_scheme_and_name(text: str, scheme: Scheme, name: str) -> None:
    target = parse_target(text)
    assert (target.scheme, target.name, target.text) == (scheme, name, text)


BAD = [
    "",
    "shop.example",
    "ftp://shop.example",
    "javascript:alert(1)",
    "https:",
    "https:///settle",
    "https://:8080/",
    "https://?a=b",
    "https://user:secret@shop.example/",
    "https://token@shop.example/",
    "https://shop.example/a#b",
    "https://shop.example#b",
    "https://shop.example/a b",
    " https://shop.example/",
    "https://shop.example/\n",
    "https://shöp.example/",
    "https://shop.example/ä",
    "https://-shop.example/",
    "https://shop.example:/",
    "https://shop.example:http/",
    "https://shop.example\\@evil.example/",
    "https://shop.example:0/",
    "https://shop.example:65536/",
    "https://shop.example/" + "x" * 2048,
    "http://shop..example/",
    "http://shop.example../",
    "https://b\u00fccher.example/",
    *(
        f"http://{host}/"
        for host in (
            "127.1",
            "127.0.1",
            "2130706433",
            "0177.0.0.1",
            "127.0.0.01",
            "0x7f.0.0.2",
            "0X7F000002",
            "127.0.0.0x2",
            "127.0.0.2.5",
            "256.0.0.1",
            "shop.example.7",
            "shop.0x",
            "0x7f.0.0.2.",
            "127.1:80",
            "00.0.0.0",
            "[fe80:::1]",
            "[1:2:3:4:5:6:7]",
            "[1::2::3]",
            "[::1.2.3.256]",
        )
    ),
    "http://[::ffff:7f00:2]/",
    "http://[::FFFF:127.0.0.2]/",
    "http://[::7f00:2]:80/",
    "http://[::127.0.0.2]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::0001]/",
    "http://[2001:db8:0:0:1::1]/",
    "http://[64:ff9b::1.2.3.4]/",
    "python:",
    "python:send email",
    "python:1st",
    "PYTHON:work",
    "sql:settle",
    "sql:billing.settle(1)",
    "notify:",
    "notify:pgsched_wake",
    "notify:PgSched",
    "notify:Orders",
    "queue:orders",
    "kafka:",
]


@pytest.mark.parametrize("text", BAD)
def test_an_invalid_target_is_refused(text: str) -> None:
    with pytest.raises(InvalidTarget, match="write"):
        parse_target(text)


@pytest.mark.parametrize(
    ("host", "meant"),
    [
        ("[::ffff:7f00:2]", "127.0.0.2"),
        ("[::127.0.0.2]", "127.0.0.2"),
        ("[::0001]", "[::1]"),
        ("[2001:db8:0:0:1::1]", "[2001:db8::1:0:0:1]"),
        ("[64:ff9b::1.2.3.4]", "[64:ff9b::102:304]"),
    ],
)
def test_the_refusal_of_an_ip_address_suggests_its_canonical_form(host: str, meant: str) -> None:
    with pytest.raises(InvalidTarget) as refused:
        canonical_host(host)
    assert str(refused.value).endswith(f"write {meant}")


SPELLINGS = [
    (
        "shop.example",
        "https://shop.example/a",
        "https://SHOP.example?a",
        "https://shop.example:443",
        "https://shop.example.:443/",
        "https://shop.example:00443/",
        "http://shop.example.",
        "http://shop.example:80/",
        "http://shop.example:443/",
    ),
    ("shop.example:9415", "http://shop.example:9415", "http://shop.example.:09415/", "HTTPS://Shop.Example:9415?a:80"),
    ("127.0.0.2:9415", "http://127.0.0.2:9415/", "http://127.0.0.2.:09415/"),
    ("[2001:db8::2]", "http://[2001:DB8::2]", "https://[2001:db8::2]:0443/"),
    ("xn--bcher-kva.example", "http://XN--Bcher-KVA.example:080/"),
]
"""Canonical host names, each with a URL that spells the host differently."""


@pytest.mark.parametrize(("host", "target"), [(host, target) for host, *targets in SPELLINGS for target in targets])
def test_a_host_has_one_name_however_it_is_spelled(host: str, target: str) -> None:
    assert host_of(target) == host


def test_a_target_error_never_repeats_a_password() -> None:
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
def test_a_port_is_split_from_its_host(host: str, alone: str) -> None:
    assert without_port(host) == alone
