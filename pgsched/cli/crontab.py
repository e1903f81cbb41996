"""Parses crontabs. A line consists of five fields and a command, of an ``@`` word and a command, or of a variable."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pgsched.cli.crontab_shell_words import STARTERS, words_in
from pgsched.errors import InvalidInput

_SETTING = re.compile(r"""^(["']?)([A-Za-z_][A-Za-z_0-9]*)\1[ \t]*=[ \t]*(.*)$""")
_ENTRY = re.compile(r"^(@\S+|(?:[^ \t]+[ \t]+){4}[^ \t]+)[ \t]+([^ \t].*)$")
_BLANKS = re.compile("[ \t]+")
_LONE_STEP = re.compile(r"(?:^|[, \t])\w+/\d")
_LOGIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?(?::[A-Za-z0-9_./-]+)?")
_ACCOUNTS = words_in(
    "root daemon bin sys nobody www-data apache nginx http httpd postgres mysql mariadb redis ubuntu debian "
    "admin ec2-user centos deploy backup operator jenkins gitlab git mail www uucp news games irc proxy ftp "
    "sshd cron smmsp munin nagios zabbix"
)
_PROGRAMS = words_in(
    "[ apt apt-get awk bash borg bundle bzip2 cat cd certbot chmod chown composer cp crontab curl dash date "
    "deno docker dotnet drush echo env exec export find flock git gzip head ionice java ksh kubectl ln "
    "logrotate ls mail make mkdir mv mysql mysqldump nice node nohup npm npx perl pg_dump php pip psql python "
    "rake rclone rdiff-backup restic rm rsync ruby run-parts scp sed service sh sleep source ssh sudo su svn sync "
    "systemctl tar test time timeout touch wget yarn zip zsh"
)
"""Programs that are commonly started by name, without a path."""
_PROGRAM = re.compile(r"(?:python|php|perl|ruby|pypy)[0-9.]*|.*\.(?:sh|py|pl|rb|php|js)")
_UNUSED = frozenset({"SHELL", "PATH", "HOME", "LOGNAME", "USER"})
"""Variables that cron uses when it starts a command, and that do not matter when a target is called."""
_TOLD = {
    "MAILTO": "pgsched sends no mail: use on_failure or alerts instead",
    "TZ": "it only sets the commands' environment: set the schedule's time zone with CRON_TZ or --timezone",
    "RANDOM_DELAY": "pgsched has no such setting: add the rule jitter to the jobs below this line",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrontabEntry:
    """A crontab entry, with the time zone that an earlier line sets."""

    number: int
    cron: str
    command: str
    timezone: str | None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A line that was not converted, with the reason."""

    number: int
    why: str


def lines_of(text: str, *, with_user: bool) -> Iterator[CrontabEntry | LeftOut]:
    """Yields the entries in order. With ``with_user``, the format is that of ``/etc/crontab``: a user before each
    command. Raises InvalidInput if an entry has the other format."""
    timezone = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        if setting := _SETTING.match(line):
            name, value = setting[2], setting[3].strip("\"'")
            if name == "CRON_TZ":
                timezone = value or None
            elif value and name not in _UNUSED:
                yield LeftOut(number=number, why=f"{name}: {_TOLD.get(name, 'it only sets the environment')}")
        elif entry := _ENTRY.match(line):
            yield _entry(number, _BLANKS.sub(" ", entry[1]), entry[2], timezone, with_user=with_user)
        else:
            yield LeftOut(number=number, why="this is not a crontab entry")


def _entry(number: int, cron: str, command: str, timezone: str | None, *, with_user: bool) -> CrontabEntry | LeftOut:
    first, *rest = _BLANKS.split(command, maxsplit=1)
    if with_user and (not _LOGIN.fullmatch(first) or (_is_program(first) and not _is_account(first, rest))):
        raise InvalidInput(f"line {number} has {first!r:.80} instead of a user: leave out --system")
    if with_user and not rest:
        raise InvalidInput(f"line {number} has no command after {first!r:.80}: leave out --system, or add the user")
    if not with_user and rest and _is_user(first, rest):
        raise InvalidInput(
            f"line {number} has {first!r:.80}, which looks like a user, before its command: "
            "use --system for the format of /etc/crontab; if this word is a program, write its full path"
        )
    if not cron.startswith("@") and _LONE_STEP.search(cron):
        why = f"most crons ignore the step in {cron!r:.80}: write a range with a step, such as 5-59/15, or one value"
        return LeftOut(number=number, why=why)
    user, command = (first, rest[0]) if with_user else (None, command)
    return CrontabEntry(number=number, cron=cron, command=command, timezone=timezone, user=user)


def _is_user(first: str, rest: list[str]) -> bool:
    unknown = _LOGIN.fullmatch(first) is not None and not _is_program(first)
    return _is_account(first, rest) or (unknown and _begins_a_command(rest))


def _is_account(first: str, rest: list[str]) -> bool:
    return first in _ACCOUNTS and (not _is_program(first) or _begins_a_command(rest))


def _begins_a_command(rest: list[str]) -> bool:
    """Whether the text begins with a program's path or the name of a known program."""
    return bool(rest) and (rest[0].startswith(("/", "~/", "./")) or _is_program(_BLANKS.split(rest[0], maxsplit=1)[0]))


def _is_program(word: str) -> bool:
    return word in _PROGRAMS or word in STARTERS or _PROGRAM.fullmatch(word) is not None
