-- migrate: partitions that their table's index does not cover. For each partition: a valid matching index of its own,
-- if any, and an unfinished one, if any. Locks nothing.
select p.oid::regclass::text, min(i.indexrelid::regclass::text) filter (where i.indisvalid),
       min(i.indexrelid::regclass::text) filter (where not i.indisvalid)
  from pg_catalog.pg_index whole join pg_catalog.pg_inherits h on h.inhparent = whole.indrelid join pg_catalog.pg_class p on p.oid = h.inhrelid
  left join pg_catalog.pg_index i on i.indrelid = p.oid and i.indisunique = whole.indisunique
   and not exists (select from pg_catalog.pg_inherits a where a.inhrelid = i.indexrelid)
   and substring(pg_get_indexdef(i.indexrelid) from ' USING .*') = substring(pg_get_indexdef(whole.indexrelid) from ' USING .*')
 where whole.indexrelid = to_regclass(%(name)s)
   and not exists (select from pg_catalog.pg_index own join pg_catalog.pg_inherits a on a.inhrelid = own.indexrelid
                    where own.indrelid = p.oid and a.inhparent = whole.indexrelid)
 group by p.oid order by p.oid
