"""Loads SQL statements. Each statement has a file of its own, which is read once.

Some statements have optional clauses that differ from call to call; ``core/clauses.sql`` contains the clauses by name,
with their reasons.

A hot-path statement works on several partitions at once. A line ``-- then`` divides its file in two: the first half
runs on each partition's own table, and the second on the rows of all partitions. Naming the tables keeps the other
partitions out of planning and lets PostgreSQL keep the plan. A single statement saves a round trip per partition.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import LiteralString

from pgsched.domain.queue_partitions import first_of, partitions_of


@cache
def statement(name: str) -> LiteralString:
    """Returns the text of ``statements/<name>.sql``."""
    return files("pgsched.store").joinpath("statements", f"{name}.sql").read_text(encoding="utf-8")


@cache
def statement_in(name: str, partition: int, clauses: tuple[str, ...] = (), order: LiteralString = "") -> LiteralString:
    """Like ``statement_with``, for one partition: ``{p}`` is replaced with the partition's number."""
    return statement_with(name, clauses, order).replace("{p}", str(partition))


@lru_cache(maxsize=1024)
def statement_with(name: str, clauses: tuple[str, ...] = (), order: LiteralString = "") -> LiteralString:
    """Returns a statement with its placeholders filled in: ``{clauses}`` becomes the named clauses of
    ``core/clauses.sql``, ``{order}`` becomes ``order`` (" desc" to read rows from the end), and ``{claimed}`` becomes
    the clause of that name.
    """
    text = "".join("\n" + _clauses()[clause] for clause in clauses)
    found = statement(name).replace("{claimed}", _clauses()["claimed"])
    return found.replace("{clauses}", text).replace("{order}", order)


@lru_cache(maxsize=256)
def statement_among(name: str, partitions: tuple[int, ...], clauses: tuple[str, ...] = ()) -> LiteralString:
    """Like ``statement_with``, for rows of these partitions: ``{partitions}`` is replaced with their numbers. If the
    numbers were a parameter, a cached plan would read the rows of all partitions and discard most rows.
    """
    numbers = ", ".join(map(str, sorted(partitions)))
    text: LiteralString = statement_with(name, clauses).replace("{partitions}", f"'{{{numbers}}}'::smallint[]")
    return text


@cache
def _clauses() -> dict[str, LiteralString]:
    _, *found = re.split(r"^-- (\w+): .*\n", statement("core/clauses"), flags=re.MULTILINE)
    return dict(zip(found[::2], map(str.strip, found[1::2]), strict=True))


@cache
def statement_over(
    name: str, partitions: tuple[int, ...], clauses: tuple[str, ...] = (), order: LiteralString = ""
) -> LiteralString:
    """Like ``statement_with``, but reads these partitions. ``{p}`` stands for a partition's number in the part that is
    repeated for each partition, and ``{rows}`` for the rows of all parts.
    """
    each, then = statement_with(name, clauses, order).split("\n-- then\n")
    parts = ",\n".join(f"part_{p} as (\n{each.replace('{p}', str(p))}\n)" for p in partitions)
    rows = " union all ".join(f"select * from part_{p}" for p in partitions)
    text: LiteralString = f"with {parts}\n{then.replace('{rows}', rows)}"
    return text


def together(partitions: Iterable[int]) -> list[tuple[int, ...]]:
    """Groups partitions so that one statement covers each group: a single partition, or all partitions of a queue. This
    keeps the number of statement texts small, so that the statements stay prepared.
    """
    queues: dict[int, list[int]] = {}
    for partition in partitions:
        queues.setdefault(first_of(partition), []).append(partition)
    return [tuple(named) if len(named) == 1 else tuple(partitions_of(q)) for q, named in queues.items()]
