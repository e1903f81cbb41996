-- tzdata: records that all rows are planned by this version, unless a later version is recorded. Clears the record of a
-- worker with an older version.
with settled as (delete from pgsched_internal.facts where name = 'tzdata behind')
insert into pgsched_internal.facts as f (name, value) values ('tzdata', %(version)s)
on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
 where f.value collate "C" < excluded.value collate "C"
