"""Checks that the database, its schema and its roles are as this release needs them."""

from types import SimpleNamespace

from pgsched.store.admin.interface_replacement import ROLES, is_current_sql
from pgsched.store.admin.schema_revisions import is_served, mismatch
from pgsched.store.core.fitness import READ_ONLY, DatabaseSettings, problem_of
from pgsched.store.core.lock_capacity import OPEN, find_room
from pgsched.store.core.query import column, first, value
from pgsched.store.doctor.finding import CheckContext, Finding, error, note, warning
from pgsched.version import __version__


async def settings(ground: CheckContext) -> list[Finding]:
    """Checks the database's settings that pgsched depends on, and whether it accepts writes."""
    await ground.connection.execute("do 'begin end'")
    row = await first(ground.connection, "core/database_settings")
    assert row is not None
    found = DatabaseSettings(*row)
    if found.takes_no_writes:
        return [
            error(
                READ_ONLY.partition(". ")[0],
                why="Nothing can be scheduled, claimed or recorded there.",
                do=READ_ONLY.partition(". ")[2] + ".",
            )
        ]
    if problem := problem_of(found):
        return [
            error(
                f"pgsched cannot run in this database: {problem.partition(':')[0]}",
                why="pgsched's functions fail, or do not behave as documented.",
                do=f"Correct this: {problem}.",
            )
        ]
    return []


async def revision(ground: CheckContext) -> list[Finding]:
    """Checks that tables and functions are those of this release."""
    _, is_there, _ = await first(ground.connection, "doctor/server") or ("", False, False)
    found = await column(ground.connection, "admin/revisions") if is_there else []
    if not found or not await is_served(ground.connection, found):
        said = str(mismatch(found)) if found else "the database has no pgsched schema yet"
        seen, _, do = said.partition(": ")
        return [error(seen, why="This release's workers and API do not start.", do=f"{do or 'run pgsched migrate'}.")]
    if await (await ground.connection.execute(is_current_sql())).fetchone() == (True,):
        return []
    release = await value(ground.connection, "admin/fact", fact="release")
    made_by = "are another release's" if release in (None, __version__) else f"are those of release {release}"
    return [
        warning(
            f"the functions, views and grants {made_by}, or were created before a role existed, or on another "
            "version of PostgreSQL",
            why="This release's API and workers may call functions that do not exist or that they lack the "
            "privilege to call.",
            do="Run pgsched migrate with the newest release in use.",
        )
    ]


async def drift(ground: CheckContext) -> list[Finding]:
    """Finds changes made to the schema by hand since it was migrated."""
    told = [_behind(one) for one in await ground.rows("doctor/sequences_behind")]
    found = await ground.rows("doctor/drift")
    if not all(one.comparable for one in found):
        told.append(
            note(
                "pgsched's schema was recorded on another version of PostgreSQL",
                why="Changes made by hand since then cannot be detected.",
                do="Run pgsched migrate, which records the schema again.",
            )
        )
    by_what = {say: [one.name for one in found if one.what == say and one.comparable] for say in _DRIFTS}
    told += [_drifted(what, names) for what, names in by_what.items() if names]
    owned = {one.owner: [other.name for other in found if other.owner == one.owner] for one in found if one.owner}
    return told + [_owned(owner, names) for owner, names in owned.items()]


def _behind(one: SimpleNamespace) -> Finding:
    return error(
        f"the sequence {one.name} is at {one.last:,}, but its table already contains {one.taken:,}",
        why="The sequence will return numbers that are already in use, so inserts fail: a worker cannot start, or no "
        "change can be recorded in the audit log.",
        do="Run pgsched migrate, which moves the sequence past the last number in its table.",
    )


_DRIFTS = {"missing": error, "changed": warning, "added": note}
_SHOWN = 10


def _drifted(what: str, names: list[str]) -> Finding:
    return _DRIFTS[what](
        f"{what} since pgsched was migrated: {_some(names)}",
        why="Anything missing or changed may fail or be slow; additions may slow down every write, and may get in "
        "the way of the next migration.",
        do="Run pgsched migrate --replace for functions, views, triggers, policies, grants, row security, and "
        "missing indexes, partitions and watches; create tables as pgsched migrate --sql prints them, and drop "
        "additions that do not belong there.",
    )


def _owned(owner: str, names: list[str]) -> Finding:
    return warning(
        f"owned by {owner} when pgsched was migrated, but no longer: {_some(names)}",
        why="Functions run with the privileges of their owner, so they may fail or may do too much; migrations fail.",
        do=f"Change the owner back with alter … owner to {owner}, or run pgsched migrate --replace as a superuser.",
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


async def indexes(ground: CheckContext) -> list[Finding]:
    """Finds indexes whose build did not finish."""
    return [
        error(
            f"the index {name} is not valid",
            why="No query uses it, but every write maintains it.",
            do=f"Run pgsched migrate --replace. If the index is not pgsched's, use the SQL command reindex index "
            f"concurrently {name} instead.",
        )
        for name in await column(ground.connection, "doctor/invalid_indexes", most=ground.bounds.most)
    ]


async def roles(ground: CheckContext) -> list[Finding]:
    """Finds roles that are missing, and roles and logins that have too many privileges."""
    names = list(ROLES)
    there = await column(ground.connection, "admin/roles_among", names=names)
    found = [
        error(
            f"the role {name} is missing",
            why="The privileges that it should have are granted to no one.",
            do="Run pgsched migrate as a role that has CREATEROLE, or as another role and then run the statements "
            "that it prints.",
        )
        for name in names
        if name not in there
    ]
    more = await ground.rows("doctor/roles", ours=names, most=ground.bounds.most)
    return found + [_too_much(one) for one in more]


def _too_much(one: SimpleNamespace) -> Finding:
    if one.ours:
        return warning(
            f"the role {one.name} has attributes that pgsched's roles do not need: {_listed(one.what)}",
            why="Its members, and sessions that act as it, may do more than deliver and schedule.",
            do=f"Run alter role {one.name} {' '.join(f'no{what}' for what in one.what.split())}.",
        )
    return warning(
        f"a worker logs in as the role {one.name}, which has the attributes {_listed(one.what)}",
        why="Handlers and functions that the worker runs have these rights, too.",
        do="Give workers a login that is a member of pgsched_worker and nothing else: docs/how-to/deploy.md.",
    )


def _listed(words: str) -> str:
    return ", ".join(words.split())


async def room_for_locks(ground: CheckContext) -> list[Finding]:
    """Checks whether the server's lock table has room, and who can fill it."""
    advice = (await find_room(ground.connection)).advice()
    found = []
    if advice:
        seen, _, do = advice.partition(": ")
        found.append(
            warning(
                seen,
                why="While the lock table is full, no transaction that writes can begin.",
                do=f"To make room, {do}.",
            )
        )
    if await value(ground.connection, "core/open_to_public"):
        found.append(
            note(
                OPEN.partition(":")[0],
                why="A single login can stop everything, on purpose or by mistake.",
                do="Revoke these rights from PUBLIC unless you trust every login: docs/how-to/deploy.md.",
            )
        )
    return found
