-- backfill: how far it is, one or a job's newest ones. Executions that are over are those planned that are not live;
-- history knows which of them failed or were cancelled. Locks nothing. Indexes: the primary key, backfills_job;
-- executions_job, history_job.
select b.id, b.job_id, b.starts_at, b.ends_at, b.reached, b.rate, b.state, b.instants, b.planned, b.passed_over,
       live.count as live, b.planned - live.count as finished, ended.failed, ended.cancelled, b.created_at, b.updated_at
  from pgsched.backfills b,
       lateral (select count(*) from pgsched.executions e
                 where e.job_id = b.job_id and e.plan = 0
                   and e.scheduled_for >= b.starts_at and e.scheduled_for < b.ends_at and e.created_at >= b.created_at) live,
       lateral (select count(*) filter (where h.status = 'failed') as failed,
                       count(*) filter (where h.status = 'cancelled') as cancelled
                  from pgsched.history h
                 where h.job_id = b.job_id and h.status in ('failed', 'cancelled')
                   and h.scheduled_for >= b.starts_at and h.scheduled_for < b.ends_at and h.created_at >= b.created_at) ended
 where b.id = coalesce(%(backfill)s::uuid, b.id) and b.job_id = coalesce(%(job)s::uuid, b.job_id)
   and (%(after)s::uuid is null or b.id < %(after)s)
 order by b.id desc limit %(limit)s
