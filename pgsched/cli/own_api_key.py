"""The key that ``pgsched up`` makes, once for each directory, so that the API it starts takes no request without one.

It is kept as the header that a request has, so that ``curl -H @FILE`` needs no secret on its command line.
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
    """The file with the header, which its owner alone may read. Its key is for everything; another is made where the
    database does not take it. Raises PgschedError and OSError."""
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
