-- Notes what the installation agrees on. A value only ever grows: who is behind changes nothing.
insert into pgsched.facts as f (name, value) values (%(name)s, %(value)s)
on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
 where f.value collate "C" < excluded.value collate "C"
