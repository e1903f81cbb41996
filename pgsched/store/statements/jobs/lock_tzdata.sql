-- tzdata: reserves the recheck for this worker. Returns no row if another registered worker is rechecking.
insert into pgsched_internal.facts as f (name, value) values ('tzdata rechecked by', %(worker)s::integer)
    on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
 where f.value = excluded.value
    or not exists (select from pgsched.workers w where w.id = f.value::integer and w.lost_since is null)
returning true
