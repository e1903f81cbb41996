"""Reads crontabs: lines of five fields and a command, or an ``@`` word and a command, with settings between them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

_SETTING = re.compile(r"^([A-Za-z_][A-Za-z_0-9]*)\s*=\s*(.*)$")
_ENTRY = re.compile(r"^(@[a-z]+|(?:\S+\s+){4}\S+)\s+(\S.*)$")
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
_CALLERS = {"curl", "wget"}
_PLAIN = {"-s", "-S", "-f", "-q", "-L", "-sS", "-sf", "-fs", "-fsS", "-fsSL", "-nv", "-qO-", "--silent", "--show-error"}
_PLAIN |= {"--fail", "--location", "--quiet", "--spider"}
"""Flags of curl and wget with which the request is still a GET without anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An entry of a crontab, with the time zone that a setting above it names."""

    number: int
    cron: str
    command: str
    timezone: str | None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A line that is no entry."""

    number: int
    text: str


def lines_of(text: str, *, with_user: bool) -> Iterator[Line | Unread]:
    """The entries in order. ``with_user`` is the form of ``/etc/crontab``, with a user before the command."""
    timezone = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if setting := _SETTING.match(line):
            if setting[1] == "CRON_TZ":
                timezone = setting[2].strip("\"'") or None
        elif not (entry := _ENTRY.match(line)) or (with_user and len(entry[2].split(None, 1)) < 2):
            yield Unread(number=number, text=line)
        else:
            user, command = entry[2].split(None, 1) if with_user else (None, entry[2])
            cron = " ".join(entry[1].split())
            yield Line(number=number, cron=cron, command=command, timezone=timezone, user=user)


def address_of(command: str) -> str | None:
    """The address, of a command that only calls one by GET: with curl or wget, its output thrown away."""
    if re.search(r"[$`]|(?<!\\)%", command):  # the shell or cron would put something else in its place
        return None
    words = _words(re.sub(r"\s*(?:\d?>>?\s*(?:/dev/null|&\d)|&>\s*/dev/null)", "", command.replace("\\%", "%")))
    if not _begin_a_call(words):
        return None
    addresses = _without_plain_flags(words[1:])
    return addresses[0] if len(addresses) == 1 and _is_address(addresses[0]) else None


def is_call(command: str) -> bool:
    """Whether a command, or the first of several, calls an address with curl or wget, however it does."""
    return _begin_a_call(_words(command))


def _begin_a_call(words: list[str]) -> bool:
    return bool(words) and words[0].rpartition("/")[2] in _CALLERS


def _is_address(word: str) -> bool:
    try:
        return urlsplit(word).scheme in ("http", "https")
    except ValueError:  # such as http://[
        return False


def _without_plain_flags(words: list[str]) -> list[str]:
    left, rest = list[str](), iter(words)
    for word in rest:
        if word in ("-o", "-O", "--output"):
            left += [kept for kept in [next(rest, "")] if kept not in ("/dev/null", "-")]
        elif word not in _PLAIN:
            left.append(word)
    return left


def name_of(command: str) -> str:
    """A key for a command: the last part of the address that it calls, or of the program that it starts."""
    address = address_of(command)
    words = _words(command)
    named = urlsplit(address).path.rstrip("/") or urlsplit(address).netloc if address else (words or ["job"])[0]
    last = re.sub(r"\.(?:sh|py|rb|pl|php)$", "", str(named).rpartition("/")[2])
    return _NOT_A_NAME.sub("-", last.lower()).strip("-") or "job"


def _words(command: str) -> list[str]:
    """As a shell takes them, what separates commands being words of their own; none for what no shell would take."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:
        return []
