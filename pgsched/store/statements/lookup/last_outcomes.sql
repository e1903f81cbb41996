-- For each of these jobs, the last outcomes in history, by the instants that they were scheduled for, latest first. A
-- skipped row may cover several instants. Locks nothing. Index: history_job, one descent for each job and day of
-- history.
select h.job_id, h.id, h.status::text as status, h.scheduled_for, h.finished_at, h.began_at, make_interval(secs => h.seconds) as duration
  from unnest(%(jobs)s::uuid[]) with ordinality as j(id, place)
 cross join lateral (
   select e.job_id, e.id, e.status, e.scheduled_for, e.finished_at, e.began_at, e.seconds
     from pgsched.history e
    where e.job_id = j.id
    order by e.scheduled_for desc
    limit %(most)s) h
 order by j.place, h.scheduled_for desc, h.finished_at desc
