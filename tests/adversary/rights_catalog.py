"""Effective rights of each role on each object of pgsched, read from the server's catalog."""

from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]
ROLES = ("public", "pgsched_client", "pgsched_reader", "pgsched_api", "pgsched_worker")
OWNER = "pgsched_owner"

# Matches all schemas of pgsched, so that a new one must be on the list.
_OURS = "n.nspname like 'pgsched%%'"
_KINDS = "c.relkind in ('r', 'p', 'v', 'm', 'f')"
_PARTS = {
    "schema": f"""
        select n.nspname, w.privilege, w.place from pg_namespace n,
               unnest(array['usage','create']) with ordinality as w(privilege, place)
         where {_OURS} and has_schema_privilege(%(role)s, n.oid, w.privilege)""",
    "function": f"""
        select p.oid::regprocedure::text, 'execute', 1 from pg_proc p join pg_namespace n on n.oid = p.pronamespace
         where {_OURS} and has_function_privilege(%(role)s, p.oid, 'execute')""",
    "table": f"""
        select {{name}}, w.privilege, w.place
          from pg_class c join pg_namespace n on n.oid = c.relnamespace,
               unnest(array['select','insert','update','delete','truncate','references','trigger'])
                 with ordinality as w(privilege, place)
         where {_OURS} and {_KINDS} and has_table_privilege(%(role)s, c.oid, w.privilege)""",
    "column": f"""
        select c.oid::regclass || '.' || a.attname, w.privilege, w.place
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
          join pg_attribute a on a.attrelid = c.oid and not a.attisdropped,
               unnest(array['select','insert','update','references']) with ordinality as w(privilege, place)
         where {_OURS} and {_KINDS} and not has_table_privilege(%(role)s, c.oid, w.privilege)
           and has_column_privilege(%(role)s, c.oid, a.attnum, w.privilege)""",
    "sequence": f"""
        select c.oid::regclass::text, w.privilege, w.place
          from pg_class c join pg_namespace n on n.oid = c.relnamespace,
               unnest(array['usage','select','update']) with ordinality as w(privilege, place)
         where {_OURS} and c.relkind = 'S' and has_sequence_privilege(%(role)s, c.oid, w.privilege)""",
    "type": f"""
        select t.oid::regtype::text, 'usage', 1 from pg_type t join pg_namespace n on n.oid = t.typnamespace
         where {_OURS} and t.typrelid = 0 and t.typelem = 0 and has_type_privilege(%(role)s, t.oid, 'usage')""",
}
# Partitions come and go with days and queues, so they are listed by their parent.
_NAME = """
case when c.relispartition
     then (select i.inhparent::regclass from pg_inherits i where i.inhrelid = c.oid) || ' (partition)'
     else c.oid::regclass::text end"""
_ATTRIBUTES = """
select r.rolname, w.what from pg_roles r, lateral (values
    ('superuser', r.rolsuper), ('createrole', r.rolcreaterole), ('createdb', r.rolcreatedb),
    ('replication', r.rolreplication), ('bypassrls', r.rolbypassrls), ('login', r.rolcanlogin)) w(what, has)
 where w.has and r.rolname like 'pgsched%%' and r.rolname = any (%s)
union all
select m.member::regrole::text, 'member of ' || m.roleid::regrole from pg_auth_members m
 where m.member::regrole::text = any (%s)"""


def rights(connection: Connection) -> list[str]:
    """Returns a line per role and object: ``role kind object: privilege, …``."""
    with connection.transaction():
        connection.execute("set local search_path = pg_catalog")
        found = [
            f"{role} {kind} {name}: {', '.join(privileges)}"
            for role in ROLES
            for kind, query in _PARTS.items()
            for name, privileges in sorted(_found(connection, query, role).items())
        ]
        names = [*ROLES, OWNER]
        attributes = connection.execute(_ATTRIBUTES.encode(), [names, names]).fetchall()
        return found + [f"{role} attribute: {what}" for role, what in sorted(attributes)]


def owned_by_others(connection: Connection) -> list[str]:
    """Returns the objects of pgsched that do not belong to the owner's role."""
    query = " union all ".join(
        f"select {name} from {catalog} o join pg_namespace n on n.oid = {space}"
        f" where {_OURS} and {owner}::regrole::text <> %(owner)s"
        for catalog, name, space, owner in (
            ("pg_class", "o.oid::regclass::text", "o.relnamespace", "o.relowner"),
            ("pg_proc", "o.oid::regprocedure::text", "o.pronamespace", "o.proowner"),
            ("pg_type", "o.oid::regtype::text", "o.typnamespace", "o.typowner"),
            ("pg_namespace", "o.nspname::text", "o.oid", "o.nspowner"),
        )
    )
    return [name for (name,) in connection.execute(query.encode(), {"owner": OWNER})]


def _found(connection: Connection, query: str, role: str) -> dict[str, list[str]]:
    """Returns privileges by object. Privileges of PUBLIC are not repeated for other roles."""
    found: dict[str, dict[str, int]] = {}
    text = query.replace("{name}", _NAME).encode()
    of_all = set() if role == "public" else {row[:2] for row in connection.execute(text, {"role": "public"})}
    for name, privilege, place in connection.execute(text, {"role": role}):
        if (name, privilege) not in of_all:
            found.setdefault(name, {})[privilege] = place
    return {name: sorted(privileges, key=lambda p: privileges[p]) for name, privileges in found.items()}
