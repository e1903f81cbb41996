-- tzdata: all rows are planned by this version, or by the later one that is noted; who was behind is settled with it.
with settled as (delete from pgsched_internal.facts where name = 'tzdata behind')
insert into pgsched_internal.facts as f (name, value) values ('tzdata', %(version)s)
on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
 where f.value collate "C" < excluded.value collate "C"
