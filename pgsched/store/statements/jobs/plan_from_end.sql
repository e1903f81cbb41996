-- plan: for an edited job whose next instant is counted from the end of a run, returns the instant from which planning
-- continues, and the end to count from. This end is the time when the last run ended or, if the job has not run, when
-- the job was created. If a run is not over, or the client does not keep all history, it is the current time. No row is
-- planned for an instant that has passed. Locks nothing. Indexes: executions_job of each partition; history_job.
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
