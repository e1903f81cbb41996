-- tzdata: records that a worker with this older version plans rows. Of several such versions, keeps the latest, with
-- the time when it was first recorded.
insert into pgsched_internal.facts as f (name, value) values ('tzdata behind', %(version)s)
on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
 where f.value collate "C" < excluded.value collate "C"
