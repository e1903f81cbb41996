"""The message that ``pgsched up`` prints once everything is ready: the address, and three commands to try out."""

import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pgsched.embedded import bundled_bin_dir
from pgsched.password_hiding import has_password, without_passwords
from pgsched.settings import Settings
from pgsched.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The parts of the message. ``psql`` is the command that opens the database; ``sql_role`` is the role of the client
    ``default``, if any. ``authorization`` is the file with the header that requests need. ``own_url`` is the URL of the
    embedded database; its password may be shown."""

    settings: Settings
    psql: str
    authorization: Path
    own_url: str | None = None
    sql_role: str | None = None

    @property
    def url(self) -> str:
        host = f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host
        return f"http://{host}:{self.settings.port}"

    def tries(self) -> dict[str, str]:
        """One command for each way to schedule. Each command schedules a call to the API's /healthz in five seconds."""
        target = f"{self.url}/healthz"
        body = {"target": target, "schedule": {"delay": "5s"}, "options": {"method": "GET"}}
        sql = f"""select pgsched.schedule('{target}', delay => '5 s', options => '{{"method": "GET"}}')"""
        python = (
            f"import pgsched; key = open({str(self.authorization)!r}).read().split()[-1]; "
            f"print(pgsched.Client('{self.url}', api_key=key)"
            f".schedule('{target}', delay='5s', options={{'method': 'GET'}}))"
        )
        header = shlex.quote(f"@{self.authorization}")
        return {
            "curl": f"curl {self.url}/v1/jobs -H {header} -H 'Content-Type: application/json' "
            f"-d {shlex.quote(json.dumps(body))}",
            "psql": f"{self.psql} -c {_double_quoted(sql)}",
            "python": f"{shlex.quote(sys.executable)} -c {_double_quoted(python)}",
        }

    def value(self) -> dict[str, object]:
        return {
            "url": self.url,
            "authorization": str(self.authorization),
            "database_url": self.own_url or without_passwords(self.settings.database_url or ""),
            "embedded": self.own_url is not None,
            "sql_role": self.sql_role,
            "processes": self.settings.processes,
            "try": self.tries(),
        }

    def text(self) -> str:
        lines = [f"pgsched {__version__} is ready at {self.url}"]
        if self.settings.dashboard != "off":
            lines += [
                f"For the dashboard, open that address in a browser, and sign in with the key in {self.authorization}"
            ]
        if self.own_url:
            lines += [f"Its database is {self.own_url}"]
        lines += [f"Requests need the header in {self.authorization}: curl -H @{self.authorization} …"]
        if self.sql_role:
            lines += [f"sql: targets of the client default are called as the role {self.sql_role}."]
        lines += [""]
        if self.settings.allow_private_targets:
            lines += [
                "Targets on this machine and in private networks are allowed; --no-allow-private-targets forbids them.",
                "",
            ]
        for name, line in self.tries().items():
            lines += [f"{name}:", f"  {line}", ""]
        lines += [f"See the results: {_own_command()} executions list", "Ctrl-C drains and stops."]
        return "\n".join(lines)


def _own_command() -> str:
    """The command that runs this program in the user's shell: the program's name if possible, otherwise its path."""
    beside = Path(sys.executable).with_name("pgsched")
    if not beside.exists() or ((found := shutil.which("pgsched")) and Path(found).samefile(beside)):
        return "pgsched"
    is_below = beside.is_relative_to(Path.cwd())
    return shlex.quote(str(beside.relative_to(Path.cwd()) if is_below else beside))


def embedded_psql(url: str) -> str:
    """The command that opens the embedded database with the bundled psql."""
    return f"{shlex.quote(str(bundled_bin_dir() / 'psql'))} {shlex.quote(url)}"


def plain_psql(url: str) -> str:
    """The command that opens a given database with the installed psql. Does not contain the URL's password."""
    if os.environ.get("PGSCHED_DATABASE_URL") == url:
        return 'psql "$PGSCHED_DATABASE_URL"'
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}@{host}" if user else host
    query = "&".join(part for part in parts.query.split("&") if not has_password(part))
    return f"psql {shlex.quote(parts._replace(netloc=netloc, query=query).geturl())}"


def _double_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
    return f'"{escaped}"'
