-- A digest of each database object of pgsched, by its kind and name, so that manual changes can be detected. Partitions
-- and watches are left out, because they come and go with days and queues. Parentheses are left out, because restoring
-- a dump changes those of expressions. The rights of roles that are not pgsched's are also left out. Locks nothing.
create or replace function pgsched_internal.catalogue() returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  with ours as (
    select n.oid, n.nspname as name from pg_namespace n where n.nspname in ('pgsched', 'pgsched_internal')
  ), relations as (
    select c.* from pg_class c join ours on ours.oid = c.relnamespace where c.relkind in ('r', 'p', 'v')
     and not c.relispartition and c.relname !~ '^(executions|history|attempts|rollups)_[0-9]+$'
  ), functions as (
    select p.* from pg_proc p join ours on ours.oid = p.pronamespace
  ), rights (thing, acl) as (
    select c.oid::regclass::text, c.relacl from relations c
    union all select format('%s (%s)', c.oid::regclass, a.attname), a.attacl from relations c join pg_attribute a on a.attrelid = c.oid
    union all select p.oid::regprocedure::text, p.proacl from functions p
    union all select c.oid::regclass::text, c.relacl from pg_class c join ours on ours.oid = c.relnamespace where c.relkind = 'S'
    union all select 'schema ' || n.nspname, n.nspacl from pg_namespace n join ours using (oid)
  ), things (name, text) as (
    select 'table ' || c.oid::regclass, concat_ws(' ', c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.reloptions, pg_get_partkeydef(c.oid))
      from relations c where c.relkind <> 'v'
    union all select 'view ' || c.oid::regclass, concat_ws(' ', c.reloptions, pg_get_viewdef(c.oid)) from relations c where c.relkind = 'v'
    union all
    select format('column %s.%I', c.oid::regclass, a.attname),
           concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, nullif(a.attcollation, 0)::regcollation,
             pg_get_expr(d.adbin, d.adrelid))
      from relations c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
     where c.relkind <> 'v'
    union all
    select format('constraint %I of %s', k.conname, c.oid::regclass), pg_get_constraintdef(k.oid)
      from relations c join pg_constraint k on k.conrelid = c.oid where k.contype <> 'n'
    union all
    select 'sequence ' || c.oid::regclass,
           concat_ws(' ', s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle)
      from pg_class c join ours on ours.oid = c.relnamespace join pg_sequence s on s.seqrelid = c.oid where c.relname !~ '^watch_[0-9]+$'
    union all
    select 'index ' || i.indexrelid::regclass, pg_get_indexdef(i.indexrelid) from relations c join pg_index i on i.indrelid = c.oid
    union all
    select format('trigger %I on %s', t.tgname, c.oid::regclass), concat_ws(' ', t.tgenabled, pg_get_triggerdef(t.oid))
      from relations c join pg_trigger t on t.tgrelid = c.oid where not t.tgisinternal and t.tgparentid = 0
    union all
    select format('policy %I on %s', p.polname, c.oid::regclass),
           concat_ws(' ', p.polcmd, array(select r::regrole::text from unnest(p.polroles) r order by 1),
             pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
      from relations c join pg_policy p on p.polrelid = c.oid
    union all
    select 'function ' || p.oid::regprocedure,
           concat_ws(' ', p.prosrc, pg_get_function_sqlbody(p.oid), pg_get_function_result(p.oid), p.proconfig, p.prosecdef, p.provolatile, p.proparallel,
             p.proisstrict, l.lanname)
      from functions p join pg_language l on l.oid = p.prolang
    union all
    select 'type ' || t.oid::regtype,
           concat_ws(' ', array(select e.enumlabel from pg_enum e where e.enumtypid = t.oid order by e.enumsortorder),
             array(select pg_get_constraintdef(k.oid) from pg_constraint k where k.contypid = t.oid and k.contype = 'c' order by k.conname))
      from pg_type t join ours on ours.oid = t.typnamespace where t.typtype in ('e', 'd')
    union all
    select 'rights on ' || r.thing, string_agg(concat_ws(' ', coalesce(g.rolname, 'public'), a.privilege_type), ',' order by g.rolname, a.privilege_type)
      from rights r cross join aclexplode(r.acl) a left join pg_roles g on g.oid = a.grantee
     where a.grantee = 0 or g.rolname in ('pgsched_worker', 'pgsched_api', 'pgsched_client', 'pgsched_reader')
     group by r.thing
  )
  select jsonb_object_agg(t.name, left(encode(sha256(convert_to(translate(coalesce(t.text, ''), '()', ''), 'UTF8')), 'hex'), 16)) from things t
$$;
comment on function pgsched_internal.catalogue()
  is 'A digest of each table, column, index, function and other object of pgsched, by its kind and name.';
