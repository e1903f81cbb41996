-- migrate: records which release made the interface.
insert into pgsched_internal.facts as f (name, value) values ('release', {release})
    on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
