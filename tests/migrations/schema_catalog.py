"""The schema from the server's catalogs, as one text that is the same on every supported version.

Functions appear with their signature, privileges and comment: their bodies are replaced by each release and reviewed as
source.
"""

from typing import Any

import psycopg

_OURS = "in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace)"
_RELATIONS = f"c.relnamespace {_OURS}"

_PARTS: dict[str, str] = {
    "types": """
        select format('type %s as enum (%s)', t.oid::regtype,
                 string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder))
          from pg_type t join pg_enum e on e.enumtypid = t.oid
         where t.typnamespace {ours} group by t.oid""",
    "domains": """
        select format('domain %s as %s constraint %s %s', t.oid::regtype, format_type(t.typbasetype, t.typtypmod),
                 k.conname, pg_get_constraintdef(k.oid))
          from pg_type t join pg_constraint k on k.contypid = t.oid
         where t.typnamespace {ours} and k.contype = 'c'""",
    "tables": """
        select format('%s %s%s%s%s', case c.relkind when 'v' then 'view' else 'table' end, c.oid::regclass,
                 ' partition by ' || pg_get_partkeydef(c.oid), ' with (' || array_to_string(c.reloptions, ', ') || ')',
                 case when c.relrowsecurity then ' row level security' end)
          from pg_class c where {relations} and c.relkind in ('r', 'p', 'v') and not c.relispartition""",
    "columns": """
        select format('column %s.%s %s %s%s%s%s', c.oid::regclass, lpad(a.attnum::text, 2, '0'), a.attname,
                 format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' end,
                 ' default ' || pg_get_expr(d.adbin, d.adrelid), case a.attidentity when 'd' then ' identity' end)
          from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
         where {relations} and c.relkind in ('r', 'p', 'v') and not c.relispartition""",
    "constraints": """
        select format('constraint %s.%s %s', c.oid::regclass, k.conname, pg_get_constraintdef(k.oid))
          from pg_class c join pg_constraint k on k.conrelid = c.oid
         where {relations} and not c.relispartition and k.contype <> 'n'""",
    "indexes": """
        select pg_get_indexdef(i.indexrelid)
          from pg_class c join pg_index i on i.indrelid = c.oid where {relations} and not c.relispartition""",
    "partitions": """
        select format('partition %s of %s %s%s', c.oid::regclass, i.inhparent::regclass,
                 pg_get_expr(c.relpartbound, c.oid), ' with (' || array_to_string(c.reloptions, ', ') || ')')
          from pg_class c join pg_inherits i on i.inhrelid = c.oid where {relations} and c.relkind in ('r', 'p')""",
    "triggers": """
        select pg_get_triggerdef(t.oid) || case t.tgenabled when 'R' then ' (replica)' else '' end
          from pg_class c join pg_trigger t on t.tgrelid = c.oid
         where {relations} and not t.tgisinternal and t.tgparentid = 0""",
    "policies": """
        select format('policy %s on %s for %s to %s using (%s) check (%s)', p.polname, c.oid::regclass, p.polcmd,
                 array(select r::regrole from unnest(p.polroles) r), pg_get_expr(p.polqual, p.polrelid),
                 pg_get_expr(p.polwithcheck, p.polrelid))
          from pg_class c join pg_policy p on p.polrelid = c.oid where {relations}""",
    "functions": """
        select format('function %s returns %s volatility %s parallel %s%s%s', p.oid::regprocedure,
                 pg_get_function_result(p.oid), p.provolatile, p.proparallel,
                 case when p.prosecdef then ' security definer' end, ' set ' || array_to_string(p.proconfig, ', '))
          from pg_proc p where p.pronamespace {ours}""",
    "grants": """
        select format('grant %s on %s to %s',
                 string_agg(lower(a.privilege_type), ', ' order by a.privilege_type), o.name,
                 coalesce(nullif(a.grantee, 0)::regrole::text, 'public'))
          from (select c.oid::regclass::text as name, c.relacl as acl, c.relowner as owner from pg_class c
                 where {relations} and not c.relispartition
                union all select format('%s (%s)', c.oid::regclass, t.attname), t.attacl, c.relowner
                  from pg_class c join pg_attribute t on t.attrelid = c.oid where {relations}
                union all select p.oid::regprocedure::text, p.proacl, p.proowner from pg_proc p
                 where p.pronamespace {ours}
                union all select 'schema ' || n.nspname, n.nspacl, n.nspowner from pg_namespace
                 n where n.nspname in ('pgsched', 'pgsched_internal')) o,
               aclexplode(o.acl) a where a.grantee <> o.owner group by o.name, a.grantee""",
    "comments": """
        select format('comment on %s is %L', p.oid::regprocedure, d.description)
          from pg_proc p join pg_description d on d.objoid = p.oid and d.classoid = 'pg_proc'::regclass
         where p.pronamespace {ours}
        union all
        select format('comment on %s is %L', c.oid::regclass, d.description)
          from pg_class c join pg_description d on d.objoid = c.oid and d.classoid = 'pg_class'::regclass
         where {relations}""",
}


def dump(connection: psycopg.Connection[tuple[Any, ...]]) -> str:
    """Returns our two schemas, except function bodies, one item per line in a fixed order."""
    with connection.transaction():
        connection.execute("set local search_path = pg_catalog")
        parts = [_part(connection, title, query) for title, query in _PARTS.items()]
    return "\n".join(parts)


def _part(connection: psycopg.Connection[tuple[Any, ...]], title: str, query: str) -> str:
    rows = connection.execute(query.replace("{relations}", _RELATIONS).replace("{ours}", _OURS).encode()).fetchall()
    lines = sorted(" ".join(str(row[0]).split()) for row in rows)
    return "\n".join([f"-- {title}", *lines, ""])
