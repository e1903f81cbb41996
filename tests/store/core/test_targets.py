"""The database and Python agree on which targets are valid, and on the capability that a target needs."""

import ipaddress
import random

import psycopg
import pytest

from pgsched.domain.capability import needs
from pgsched.domain.gate import host_of
from pgsched.domain.target import Scheme, canonical_host, parse_target
from pgsched.errors import InvalidTarget
from tests.domain.test_target import BAD, GOOD, SPELLINGS
from tests.store.store_arrange import Connection, value


def test_the_valid_examples_cover_every_scheme() -> None:
    assert {scheme for _, scheme, _ in GOOD} == set(Scheme)


def test_the_database_and_python_agree_on_each_targets_capability(db: Connection) -> None:
    for target, _, _ in GOOD:
        assert value(db, "select pgsched_internal.capability_of(%s)", [target]) == (needs(target) or target)


def test_the_database_accepts_valid_targets(db: Connection) -> None:
    for target, _, _ in GOOD:
        assert value(db, "select pgsched_internal.check_target(%s)", [target])


def test_the_database_refuses_invalid_targets(db: Connection) -> None:
    for target in BAD:
        with pytest.raises(psycopg.DatabaseError) as refusal:
            db.execute("select pgsched_internal.check_target(%s)", [target])
        assert refusal.value.sqlstate == "PS001"


def test_the_target_domain_accepts_only_valid_targets(db: Connection) -> None:
    for target, _, _ in GOOD:
        assert value(db, "select %s::pgsched_internal.target", [target]) == target
    for target in BAD:
        with pytest.raises(psycopg.DatabaseError):
            db.execute("select %s::pgsched_internal.target", [target])


def test_the_database_and_python_agree_on_the_canonical_host(db: Connection) -> None:
    for host, *targets in SPELLINGS:
        for target in targets:
            written = target.split("://")[1].split("/")[0].split("?")[0]
            assert value(db, "select pgsched_internal.canonical_host(%s)", [written]) == host == host_of(target)
            assert value(db, "select pgsched_internal.target_host(%s)", [target]) == parse_target(target).name


def test_the_database_and_python_accept_the_same_ip_address_forms(db: Connection) -> None:
    chance = random.Random(7)
    words = [0, 0, 0, 1, 0xFFFF, 0x7F00, 0xDB8, 0x10]
    for _ in range(300):
        address = ipaddress.IPv6Address(b"".join(chance.choice(words).to_bytes(2) for _ in range(8)))
        number = chance.getrandbits(32)
        parts = [f"{number >> shift & 255:{chance.choice(['d', 'd', '#x', '02d'])}}" for shift in (24, 16, 8, 0)]
        forms = (address.compressed, address.exploded, shortened(address, chance))
        for host in (*(f"[{form}]" for form in forms), ".".join(parts)):
            assert value(db, "select pgsched_internal.is_only_form(%s)", [host]) == is_canonical(host), host


def shortened(address: ipaddress.IPv6Address, chance: random.Random) -> str:
    """Shorten the address at a random place, which need not be the one for the canonical form."""
    words = [f"{int(word, 16):x}" for word in address.exploded.split(":")]
    start = chance.randrange(8)
    end = start
    while end < 8 and words[end] == "0":
        end += 1
    return ":".join(words[:start]) + "::" + ":".join(words[end:])


def is_canonical(host: str) -> bool:
    try:
        return canonical_host(host) == host
    except InvalidTarget:
        return False
