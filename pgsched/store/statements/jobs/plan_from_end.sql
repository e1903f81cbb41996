-- plan: what an edited job goes on from whose next instant is counted from the end of a run: the end of the last one, or
-- the making of the job; but no row is planned for a moment that has passed. Answers with that, and with the end itself. From now on where
-- a run is not over, or its client does not keep all history. Locks nothing. Index: executions_job of each partition; history_job.
select greatest(pgsched.now() - j.every, e.ended), e.ended
  from pgsched.jobs j cross join lateral (
    select case
         when exists (select from pgsched.executions e where e.job_id = j.id and e.attempt > 0)
           or coalesce((select c.keep from pgsched.clients c where c.client_id = j.client_id), 'all') <> 'all'
         then pgsched.now()
         else coalesce((select h.finished_at from pgsched.history h where h.job_id = j.id and h.status <> 'skipped'
                         order by h.scheduled_for desc limit 1), j.created_at)
       end as ended) e
 where j.id = %(job)s
