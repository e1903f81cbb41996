-- migrate: records which release made the interface, and the revision of the oldest release that works on this schema.
insert into pgsched_internal.facts as f (name, value) values ('release', {release}), ('serves from', {serves_from})
    on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
