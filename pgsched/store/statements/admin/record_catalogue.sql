-- migrate: records what there is of pgsched. What a migration has made stays as it was recorded when that was run, on this version of
-- PostgreSQL: by then somebody may have changed it. What is replaced with each release is recorded anew.
insert into pgsched_internal.facts as f (name, value)
select 'catalogue', jsonb_build_object('server', s.server, 'revision', s.revision, 'things', s.things || coalesce(s.made, '{}'))::text
  from (
    select n.*, (select jsonb_object_agg(t.key, t.value) from pgsched_internal.facts b, jsonb_each(b.value::jsonb -> 'things') t
                  where b.name = 'catalogue' and b.value::jsonb ->> 'server' = n.server and b.value::jsonb ->> 'revision' = n.revision
                    and split_part(t.key, ' ', 1) in ('table', 'column', 'constraint', 'index', 'type')) as made,
           pgsched_internal.catalogue() as things
      from (select current_setting('server_version_num')::integer / 10000 || '' as server,
                   (select string_agg(v.version_num, ',' order by 1) from pgsched.schema_version v) as revision) n) s
    on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
