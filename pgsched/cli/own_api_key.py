"""The API key that ``pgsched up`` creates once per data directory, so that its API refuses requests without a key.

The key is stored as a request header, so that users can run ``curl -H @FILE`` without a secret on the command line.
"""

from pathlib import Path
from typing import Any

from psycopg import AsyncConnection

from pgsched.cli.database_connection import ask
from pgsched.domain.api_key import SCOPES, Token
from pgsched.own_files import write_own
from pgsched.settings import Settings
from pgsched.store import internal_verbs
from pgsched.store.admin import api_keys

_HEADER = "Authorization: Bearer "


def own_key(settings: Settings) -> Path:
    """Returns the path of the file with the header, which only its owner may read. Creates a new key if the database
    does not accept the stored one. The key has every scope. Raises PgschedError if the database fails, and OSError if
    the file cannot be read or written."""
    file = Path(settings.data_dir) / "authorization"
    found = _token_in(file)
    made = ask(settings, lambda connection: _made(connection, found))
    if made is not None:
        _write(file, f"{_HEADER}{made}\n")
    return file


def _token_in(file: Path) -> Token | None:
    try:
        return Token.parse(file.read_text(encoding="utf-8").removeprefix(_HEADER).strip())
    except (FileNotFoundError, UnicodeDecodeError):
        return None


async def _made(connection: AsyncConnection[Any], found: Token | None) -> Token | None:
    known = await internal_verbs.look_up_keys(connection, [found.id]) if found else []
    if found and any(found.fits(key.hash) and not key.revoked and key.expires_in is None for key in known):
        return None
    return await api_keys.create(connection, subject="pgsched up", clients=None, scopes=SCOPES, actor="pgsched up")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_own(file, text)
