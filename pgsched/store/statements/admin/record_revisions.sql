-- migrate: records the revisions reached in our own version table, which the migration has locked.
with gone as (
  delete from pgsched.schema_version where version_num <> all (%(reached)s)
)
insert into pgsched.schema_version select unnest(%(reached)s::text[]) on conflict do nothing
