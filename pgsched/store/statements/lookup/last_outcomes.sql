-- The last ends of each of these jobs, by the instants that they were scheduled for, the latest first: so many that history
-- has. One of a skipped row may stand for several instants. Locks nothing. Index: history_job, one descent of it for each
-- job and day that history has.
select h.job_id, h.id, h.status::text as status, h.scheduled_for, h.finished_at
  from unnest(%(jobs)s::uuid[]) with ordinality as j(id, place)
 cross join lateral (
   select e.job_id, e.id, e.status, e.scheduled_for, e.finished_at
     from pgsched.history e
    where e.job_id = j.id
    order by e.scheduled_for desc
    limit %(most)s) h
 order by j.place, h.scheduled_for desc, h.finished_at desc
