"""Sends a running API requests that its OpenAPI description allows and requests that it forbids, with three keys.

``make fuzz`` runs all of schemathesis's checks, with requests that use what others created. No answer may be a server
error or undescribed, and neither client may see what belongs to the other.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shutil import copy

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.settings import Settings
from tests.api.access_arrange import make_key, things_of_shop
from tests.conftest import Connection
from tests.processes import serving_alone

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_NOT_ASKED = ("--exclude-checks", "use_after_free")  # cancelled, revoked and discarded things are still shown


@click.command()
@click.option("--seconds", default=600, show_default=True, help="How long to run.")
@click.argument("more", nargs=-1)
def fuzz(seconds: int, more: Sequence[str]) -> None:
    """Fuzz the API. MORE is passed to schemathesis."""
    with (
        fresh_database(None) as url,
        psycopg.connect(url, autocommit=True) as db,
        serving_alone(Settings(database_url=url, port=0)) as (address, _),
        tempfile.TemporaryDirectory(prefix="pgsched-fuzz-") as directory,
    ):
        things_of_shop(db)
        copy(_HERE / "schemathesis.toml", directory)
        Path(directory, "keys.json").write_text(json.dumps(_keys(db)))
        program = str(Path(sys.executable).with_name("schemathesis"))
        wanted = [
            "run",
            f"{address}/schema/openapi.json",
            "--checks",
            "all",
            *_NOT_ASKED,
            "--max-time",
            str(seconds),
            *more,
        ]
        sys.exit(subprocess.run([program, *wanted], cwd=directory, env={"PYTHONPATH": str(_ROOT)}).returncode)


def _keys(db: Connection) -> dict[str, object]:
    """The keys of two clients, which may not see each other's things, and of an administrator."""
    tokens = {
        "shop": make_key(db, clients=["shop"], scopes=["schedule", "read", "operate"]),
        "orders": make_key(db, clients=["orders"], scopes=["schedule", "read", "operate"]),
        "admin": make_key(db),
    }
    return {
        "auth": [
            {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {token}"}]}
            for name, token in tokens.items()
        ]
    }


if __name__ == "__main__":
    fuzz()
