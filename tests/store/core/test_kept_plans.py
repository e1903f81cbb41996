"""Cached plans stay fast as tables grow. A worker's session plans a statement once, often while the tables are nearly
empty, and keeps the plan. A plan that scans a whole table or index would still do so with millions of rows."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement, statement_among, statement_in, statement_over
from tests.store.store_arrange import Connection as Session

_LARGE = re.compile(r"executions|history|jobs|gates|gate_use|keys|attempts|dependencies|clients")
_OF_MANY = re.compile(r"unnest\(%\(|= any \((%\(|\{partitions)")
_PLANNED_ANEW = {"jobs/jobs_declared", "lookup/named"}
"""Statements whose plans are not kept: commands run them once in a new session, and the API prepares nothing."""
_CLAUSES = {"lookup/done": ("rolled_up",)}
"""Clauses that a statement requires."""
_KINDS = {
    **dict.fromkeys(["ids", "ids_0", "jobs", "after"], "uuid[]"),
    **dict.fromkeys(["tokens", "owns", "revisions"], "bigint[]"),
    **dict.fromkeys(["instants", "starts", "untils", "fires", "lows", "highs", "nexts"], "timestamptz[]"),
    **dict.fromkeys(["lease", "ahead"], "interval"),
}
_FEW = [
    "insert into pgsched.jobs (target, every) values ('python:x', '1 hour')",
    "insert into pgsched.executions (target, fire_at, partition) values ('python:x', now() + interval '1 hour', 0)",
    "vacuum analyze pgsched.jobs, pgsched.executions",
]


def _of_many() -> Iterator[str]:
    for room in files("pgsched.store").joinpath("statements").iterdir():
        for file in room.iterdir():
            if file.name != "clauses.sql" and _OF_MANY.search(file.read_text(encoding="utf-8")):
                yield f"{room.name}/{file.name.removesuffix('.sql')}"


def _prepared(name: str) -> tuple[str, list[str]]:
    """Return the statement as ``prepare`` takes it, and the types of its parameters."""
    is_halved = "\n-- then\n" in statement(name)
    clauses = _CLAUSES.get(name, ())
    if is_halved:
        text = statement_over(name, (0,), clauses)
    elif "{partitions}" in statement(name):
        text = statement_among(name, (0,), clauses)
    else:
        text = statement_in(name, 0, clauses)
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
    for number, one in enumerate(names, 1):
        text = text.replace(f"%({one})s", f"${number}")
    kinds = ["unknown" if f"${number}::" in text else _KINDS.get(one, "unknown") for number, one in enumerate(names, 1)]
    return f"prepare kept {_listed(kinds)} as {text.replace('%%', '%')}", kinds


def _listed(words: list[str]) -> str:
    return f"({', '.join(words)})" if words else ""


async def _plan(worker: Connection, name: str) -> Any:
    text, kinds = _prepared(name)
    await worker.execute(text.encode())
    try:
        asked = f"explain (format json) execute kept {_listed(['null'] * len(kinds))}"
        [(plan,)] = await (await worker.execute(asked.encode())).fetchall()
    finally:
        await worker.execute(b"deallocate kept")
    return json.loads(plan) if isinstance(plan, str | bytes) else plan


def _scans(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node["Node Type"].endswith("Scan") and _LARGE.match(node.get("Relation Name", "")):
        yield node
    for child in node.get("Plans", ()):
        yield from _scans(child)


def _reads_whole(scan: dict[str, Any]) -> bool:
    """Return whether a scan reads a whole table or partition."""
    found = scan.get("TID Cond") or re.sub(r"\(?partition = [^)]*\)+( AND )?", "", scan.get("Index Cond", ""))
    return not re.search(r"[a-z]", found)


async def test_plans_cached_on_nearly_empty_tables_never_scan_a_whole_table(db: Session, worker: Connection) -> None:
    for sentence in _FEW:
        db.execute(sentence.encode())
    whole = [
        f"{name} reads {scan['Relation Name']} by {scan.get('Index Name')}, where {scan.get('Index Cond')}"
        for name in set(_of_many()) - _PLANNED_ANEW
        for scan in _scans((await _plan(worker, name))[0]["Plan"])
        if _reads_whole(scan)
    ]
    assert not whole, "\n".join(whole)
