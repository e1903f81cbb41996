"""The statements: one a file, named by its subject and verb, read once.

Those of the hot path work on several partitions at once. Their file has two halves, divided by a line ``-- then``: what
happens in each partition, on the partition's own table, and what is done with the rows of all. Naming the tables
spares the planner all partitions but these, and lets it keep the plan; one statement spares a round trip for each.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import LiteralString

from pgsched.domain.partitions import first_of, partitions_of


@cache
def statement(name: str) -> LiteralString:
    """The text of ``statements/<name>.sql``, as ``live/claim``. It came with the package, so it counts as literal."""
    return files("pgsched.store").joinpath("statements", f"{name}.sql").read_text(encoding="utf-8")


@cache
def statement_in(name: str, partition: int, passing: LiteralString = "", order: LiteralString = "") -> LiteralString:
    """The text for one partition: ``{p}`` stands for its number, ``{passing}`` for a condition on what is read,
    ``{order}`` for " desc" where it is read from the end."""
    return statement_passing(name, passing, order).replace("{p}", str(partition))


@cache
def statement_passing(name: str, passing: LiteralString = "", order: LiteralString = "") -> LiteralString:
    """The text of a statement with a condition on what is read, and the order in which it is."""
    text: LiteralString = statement(name).replace("{passing}", passing).replace("{order}", order)
    return text


@cache
def statement_over(
    name: str, partitions: tuple[int, ...], passing: LiteralString = "", order: LiteralString = ""
) -> LiteralString:
    """The text for these partitions: ``{p}`` stands for each one's number, ``{rows}`` for the rows of all.

    ``{passing}`` stands for a condition on the rows that are read, if there is one, ``{order}`` for " desc" where they
    are read from the end."""
    each, then = statement_passing(name, passing, order).split("\n-- then\n")
    parts = ",\n".join(f"part_{p} as (\n{each.replace('{p}', str(p))}\n)" for p in partitions)
    rows = " union all ".join(f"select * from part_{p}" for p in partitions)
    text: LiteralString = f"with {parts}\n{then.replace('{rows}', rows)}"
    return text


def together(partitions: Iterable[int]) -> list[tuple[int, ...]]:
    """Which tables a statement names: a single one, or all of a queue; so the texts are few and stay prepared."""
    queues: dict[int, list[int]] = {}
    for partition in partitions:
        queues.setdefault(first_of(partition), []).append(partition)
    return [tuple(named) if len(named) == 1 else tuple(partitions_of(q)) for q, named in queues.items()]
