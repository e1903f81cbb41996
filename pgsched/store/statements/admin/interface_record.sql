-- migrate: the record of the interface: its digest, the schema's revisions, the PostgreSQL version (each version prints
-- definitions differently), and the names of our roles that exist. Part of two statements.
select concat_ws(' ', %(digest)s::text, (select string_agg(v.version_num, ',' order by 1) from pgsched.schema_version v),
         current_setting('server_version_num')::integer / 10000,
         (select string_agg(r.rolname, ',' order by r.rolname) from pg_catalog.pg_roles r
           where r.rolname in ('pgsched_owner', 'pgsched_worker', 'pgsched_client', 'pgsched_reader')))
