-- Registered workers, in the order of their registration. Locks nothing; the table is small.
select w.id, w.name, w.queues, w.delivers, w.concurrency, w.release, w.started_at, d.since as draining_since, d.reason,
       case when not pgsched_internal.is_living(w) then 'lost' when d.worker is not null then 'draining' else 'active' end as state
  from pgsched.workers w left join pgsched_internal.draining d on d.worker = w.id
 where %(worker)s::integer is null or w.id = %(worker)s
 order by w.id
