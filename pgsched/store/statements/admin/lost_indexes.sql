-- migrate: indexes that were created by a migration or with a queue, and are now missing or unusable. For each index:
-- its name and definition, whether its table is partitioned, and whether an index with its name exists. Locks nothing.
-- Index: the primary key of facts.
with made as (
  select i.key as name, i.value as definition
    from pgsched_internal.facts f, jsonb_each_text(f.value::jsonb -> 'indexes') i where f.name = 'catalogue'
  union all
  select format('pgsched_internal.executions_%s_client', p),
         format('CREATE INDEX executions_%s_client ON pgsched_internal.executions_%s USING btree (client_id, fire_at)', p, p)
    from pgsched.queues q, pgsched_internal.partitions_of(q.first_partition) p where q.pulled
)
select m.name, m.definition, c.relkind = 'p' as partitioned, i.indexrelid is not null as there
  from made m join pg_catalog.pg_class c on c.oid = to_regclass(substring(m.definition from ' ON (?:ONLY )?([^ ]+) USING '))
  left join pg_catalog.pg_index i on i.indexrelid = to_regclass(m.name)
 where i.indexrelid is null or not (i.indisvalid and i.indisready)
 order by 1
