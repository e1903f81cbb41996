-- doctor: objects of pgsched that differ from the record of the last migration: missing, changed, added, or owned by
-- another role. Also returns whether the comparison is valid, because another version of PostgreSQL may have made the
-- record. Objects that come and go with queues and days are not recorded; they are compared with their required
-- definitions. Returns no row if nothing differs. Index: the primary key of facts. Locks nothing.
with recorded as (
  select f.value::jsonb as was from pgsched_internal.facts f where f.name = 'catalogue'
), relations as (
  select c.*, c.oid::regclass::text as name, h.inhparent = 'pgsched.executions'::regclass as of_queue
    from pg_catalog.pg_class c left join pg_catalog.pg_inherits h on h.inhrelid = c.oid
   where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and c.relkind in ('r', 'p', 'v', 'S')
), owned (name, owner) as (
  select case c.relkind when 'v' then 'view ' when 'S' then 'sequence ' else 'table ' end || c.name, c.relowner from relations c
  union all select 'schema ' || n.nspname, n.nspowner from pg_catalog.pg_namespace n where n.nspname in ('pgsched', 'pgsched_internal')
  union all
  select 'function ' || p.oid::regprocedure, p.proowner from pg_catalog.pg_proc p
   where p.pronamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace)
  union all
  select 'type ' || t.oid::regtype, t.typowner from pg_catalog.pg_type t
   where t.typnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and t.typtype in ('e', 'd')
), compared (name, what, comparable, owner) as (
  select coalesce(w.key, n.key), case when n.key is null then 'missing'
                                      when w.key is null and split_part(n.key, ' ', 1) not in ('constraint', 'policy', 'rights', 'trigger') then 'added'
                                      else 'changed' end,
         (select r.was ->> 'server' from recorded r) = (current_setting('server_version_num')::integer / 10000)::text, null
    from (select t.* from recorded r, jsonb_each_text(r.was -> 'things') t) w
    full join jsonb_each_text(pgsched_internal.catalogue()) n on n.key = w.key
   where w.value is distinct from n.value
  union all
  select 'table pgsched_internal.executions_' || p, 'missing', true, null from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p
   where not exists (select from relations c where c.of_queue and c.name = 'pgsched_internal.executions_' || p)
  union all
  select 'sequence pgsched_internal.watch_' || pgsched_internal.queue_number_of(q.first_partition), 'missing', true, null from pgsched.queues q
   where to_regclass('pgsched_internal.watch_' || pgsched_internal.queue_number_of(q.first_partition)) is null
  union all
  select 'table ' || c.name, 'changed', true, null from relations c
   where c.relispartition
     and (c.relpersistence <> 'p' or c.relrowsecurity or c.relforcerowsecurity
          or c.of_queue and exists (select from pg_catalog.pg_roles r, unnest(array['select', 'insert', 'update', 'delete']) may
                                     where r.rolname = 'pgsched_worker' and not has_table_privilege(r.oid, c.oid, may)))
  union all
  select 'rule ' || quote_ident(w.rulename) || ' on ' || c.name, 'changed', true, null
    from relations c join pg_catalog.pg_rewrite w on w.ev_class = c.oid where w.rulename <> '_RETURN'
  union all
  select o.name, 'owned', true, r.was ->> 'owner' from owned o cross join recorded r where o.owner::regrole::text <> r.was ->> 'owner'
)
select c.name, c.what, c.comparable, c.owner from compared c where exists (select from recorded) order by c.what, c.name limit 1000
