-- migrate: indexes of pgsched's tables that were not built to their end: of constraints and partitions, and what was left when an index was built anew.
-- Whether they are of the last kind. Locks nothing.
select i.indexrelid::regclass::text, x.relname ~ '_cc(new|old)[0-9]*$'
  from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid join pg_catalog.pg_class x on x.oid = i.indexrelid
 where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and c.relkind <> 'p' and not (i.indisvalid and i.indisready)
   and (x.relname ~ '_cc(new|old)[0-9]*$' or exists (select from pg_catalog.pg_inherits h where h.inhrelid = i.indexrelid)
        or exists (select from pg_catalog.pg_constraint k where k.conindid = i.indexrelid))
 order by 1
