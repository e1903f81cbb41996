"""Splits plain crontab commands, which consist of one program and its arguments, as a shell would.

A command with any other shell syntax (variables, conditions, pipes, redirection) is rejected as a whole, so that no
part of it is lost silently.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from urllib.parse import urlsplit


def words_in(text: str) -> frozenset[str]:
    """Returns the blank-separated words of a text."""
    return frozenset(text.split())


_TOKEN = re.compile(
    r"(?P<blank>[ \t]+)"
    r"|(?P<dropped>(?:[0-9]?>>?|&>>?)[ \t]*/dev/null(?![^ \t])|[0-9]?>&[0-9](?![^ \t])|#.*)"
    r"""|(?P<word>(?:[\w@%+:,./-]|\\[!-~ ]|'[^']*'|"[^"$`\\!]*")(?:[\w@%+:,./=?#~^-]|\\[!-~ ]|'[^']*'|"[^"$`\\!]*")*)"""
)
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)"|\\(.)""")
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
_TAKES_CODE = re.compile("-[a-z]*[cer]")
_CALLERS = frozenset({"curl", "wget"})
_INTERPRETERS = re.compile("(?:sh|bash|dash|ksh|zsh|node|(?:php|perl|python|pypy|ruby)[0-9.]*)")
STARTERS = words_in(
    "! [ [[ . : builtin case cd chpst chroot chronic chrt command cpulimit cronic cronitor dbus-run-session doas "
    "env eval exec exit export false firejail flock for gosu if ionice lockf lockfile lockrun nice nohup nsenter "
    "numactl parallel proxychains proxychains4 run-one run-parts runitor runuser runcon setlock setpriv setsid "
    "setuidgid sg sleep softlimit solo source ssh stdbuf su su-exec sudo systemd-cat systemd-inhibit systemd-run "
    "taskset test time timelimit timeout torify torsocks true ulimit umask unbuffer until wait watch while "
    "with-lock-ex xargs xvfb-run"
)
"""Shell keywords and builtins, and programs that start other programs."""
_TAKES_A_WORD = {"curl": {"-o", "-so", "-sSo", "-fsSo", "--output"}, "wget": {"-O", "-qO", "-o", "--output-document"}}
_PLAIN = {
    "curl": re.compile(
        r"-[sSfL]+|--silent|--show-error|--fail|--location|--no-progress-meter"
        r"|(?:-[sSfL]*o ?|--output[ =])(?:/dev/null|-)"
    ),
    "wget": re.compile(r"-q|-nv|--quiet|--no-verbose|-o ?/dev/null"),
}
"""Flags of a request that is still a GET and whose response is not saved."""
_DROPS = re.compile(r"(?:-q?O ?|--output-document[ =])(?:/dev/null|-)|--delete-after")
"""Flags with which wget discards the response instead of writing it to a file."""


def words_of(command: str) -> list[str]:
    """Returns the program and its arguments, or an empty list if the text is not one plain command."""
    if re.search(r"(?<!\\)%", command):  # cron ends the command here, and passes the rest as standard input
        return []
    text, at, words = command.replace("\\%", "%"), 0, list[str]()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return []
        if found["word"]:
            if "?" in _QUOTED.sub("", found["word"]) and "://" not in found["word"]:  # a file name pattern
                return []
            words.append(_QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or quoted[3] or "", found["word"]))
        at = found.end()
    if not words or _starts_another(words) or re.match(r"[A-Za-z_]\w*\+?=", words[0]):
        return []
    return words


def calls(words: list[str]) -> bool:
    """Whether the command runs curl or wget."""
    return bool(words) and _program(words) in _CALLERS


def address_of(words: list[str]) -> str | None:
    """Returns the URL that a curl or wget command gets, or None if the command does anything else."""
    if not calls(words):
        return None
    program, addresses, dropped = _program(words), list[str](), False
    for word in _joined(words):
        if program == "wget" and _DROPS.fullmatch(word):
            dropped = True
        elif not _PLAIN[program].fullmatch(word):
            addresses.append(word)
    if len(addresses) != 1 or not _is_address(addresses[0]) or (program == "wget" and not dropped):
        return None
    return None if program == "curl" and re.search(r"[][{}]", addresses[0]) else addresses[0]  # curl expands brackets


def _joined(words: list[str]) -> Iterator[str]:
    """Yields the arguments, with each flag joined to its value."""
    rest = iter(words[1:])
    for word in rest:
        yield f"{word} {next(rest, '')}" if word in _TAKES_A_WORD[_program(words)] else word


def name_of(words: list[str], address: str | None) -> str:
    """Returns a name for the command: the last part of its URL, if given, or of the path of its program or script."""
    if address:
        name = urlsplit(address).path.rstrip("/") or urlsplit(address).netloc
    else:
        name = words[1] if len(words) > 1 and _interprets(words) and not words[1].startswith("-") else words[0]
    last = re.sub(r"\.(?:sh|py|rb|pl|php|js)$", "", name.rpartition("/")[2])
    return _NOT_A_NAME.sub("-", last.lower()).strip("-")[:100] or "job"


def _starts_another(words: list[str]) -> bool:
    flags = takewhile(lambda word: word.startswith("-"), words[1:])
    return _program(words) in STARTERS or (_interprets(words) and any(_TAKES_CODE.fullmatch(flag) for flag in flags))


def _interprets(words: list[str]) -> bool:
    return _INTERPRETERS.fullmatch(_program(words)) is not None


def _program(words: list[str]) -> str:
    return words[0].rpartition("/")[2]


def _is_address(word: str) -> bool:
    try:
        return urlsplit(word).scheme in ("http", "https")
    except ValueError:  # for example, http://[
        return False
