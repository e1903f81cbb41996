"""The statements: one a file, named by its verb, read once."""

from functools import cache
from importlib.resources import files
from typing import LiteralString


@cache
def statement(name: str) -> LiteralString:
    """The text of ``statements/<name>.sql``. It came with the package, so it counts as literal."""
    return files("pgsched.store").joinpath("statements", f"{name}.sql").read_text(encoding="utf-8")
