-- migrate: records pgsched's database objects and the definitions of its indexes. An object that a migration created
-- keeps the record that was made when that migration ran on this version of PostgreSQL, because someone may have
-- changed the object afterwards. Objects that each release replaces are recorded again.
insert into pgsched_internal.facts as f (name, value)
select 'catalogue', jsonb_build_object('server', s.server, 'revision', s.revision, 'owner', s.owner, 'things', s.things || coalesce(s.made, '{}'),
                                       'indexes', s.indexes || coalesce(s.indexes_made, '{}'))::text
  from (
    select n.*, (select jsonb_object_agg(t.key, t.value) from pgsched_internal.facts b, jsonb_each(b.value::jsonb -> 'things') t
                  where b.name = 'catalogue' and b.value::jsonb ->> 'server' = n.server and b.value::jsonb ->> 'revision' = n.revision
                    and split_part(t.key, ' ', 1) in ('table', 'column', 'constraint', 'index', 'sequence', 'type')) as made,
           (select b.value::jsonb -> 'indexes' from pgsched_internal.facts b
             where b.name = 'catalogue' and b.value::jsonb ->> 'revision' = n.revision) as indexes_made,
           pgsched_internal.catalogue() as things,
           (select jsonb_object_agg(i.indexrelid::pg_catalog.regclass, pg_catalog.pg_get_indexdef(i.indexrelid))
              from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
             where c.relnamespace in ('pgsched'::pg_catalog.regnamespace, 'pgsched_internal'::pg_catalog.regnamespace) and not c.relispartition
               and not exists (select from pg_catalog.pg_constraint k where k.conindid = i.indexrelid)) as indexes
      from (select current_setting('server_version_num')::integer / 10000 || '' as server,
                   (select string_agg(v.version_num, ',' order by 1) from pgsched.schema_version v) as revision,
                   (select o.nspowner::pg_catalog.regrole::text from pg_catalog.pg_namespace o where o.nspname = 'pgsched') as owner) n) s
    on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
