-- migrate: records which interface the database has.
insert into pgsched_internal.facts as f (name, value) values ('interface', (
{record}
))
    on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
