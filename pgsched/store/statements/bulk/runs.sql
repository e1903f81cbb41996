-- bulk: counts the runs of a backfill. Runs that the backfill planned and that are no longer live have ended; history
-- records which of them failed or were cancelled. Locks nothing. Indexes: the primary key; executions_job, history_job.
select live.count as live, b.done - live.count as finished, ended.failed, ended.cancelled
  from (select o.*, (o.filter ->> 'from')::timestamptz as starts_at, (o.filter ->> 'to')::timestamptz as ends_at
          from pgsched.bulk_operations o where o.id = %(operation)s and o.action = 'backfill') b,
       lateral (select count(*) from pgsched.executions e
                 where e.job_id = b.job_id and e.plan = 0
                   and e.scheduled_for >= b.starts_at and e.scheduled_for < b.ends_at and e.created_at >= b.created_at) live,
       lateral (select count(*) filter (where h.status = 'failed') as failed,
                       count(*) filter (where h.status = 'cancelled') as cancelled
                  from pgsched.history h
                 where h.job_id = b.job_id and h.status in ('failed', 'cancelled')
                   and h.scheduled_for >= b.starts_at and h.scheduled_for < b.ends_at and h.created_at >= b.created_at) ended
