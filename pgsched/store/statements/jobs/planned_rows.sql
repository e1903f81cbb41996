-- tzdata: the jobs' rows for future instants, and the last instant that each job has accounted for: the latest that has
-- a live row or is in the last 26 hours of history. (No change of rules moves an instant further.) If the client does
-- not keep all history, the current time is used instead. Locks the rows, after the jobs; skips rows that a worker is
-- claiming. Indexes: executions_job; history_job.
select e.id, e.partition, e.job_id, e.scheduled_for,
       greatest(j.updated_at, coalesce(greatest(
         (select max(l.scheduled_for) from pgsched.executions l
           where l.partition = pgsched_internal.partition_of(j) and l.job_id = j.id and l.scheduled_for < e.scheduled_for),
         (select max(greatest(h.scheduled_for, h.last_scheduled_for)) from pgsched.history h
           where h.job_id = j.id and h.scheduled_for between pgsched.now() - interval '26 hours' and pgsched.now()
             and coalesce((select c.keep from pgsched.clients c where c.client_id = j.client_id), 'all') = 'all')),
         pgsched.now())) as accounted
  from pgsched.jobs j
 cross join lateral (
   select * from pgsched.executions e
    where e.partition = pgsched_internal.partition_of(j) and e.job_id = j.id and e.plan = j.revision and e.attempt = 0
      and e.lease_token is null and e.scheduled_for > pgsched.now()
    order by e.scheduled_for for update skip locked) e
 where j.id = any (%(jobs)s)
