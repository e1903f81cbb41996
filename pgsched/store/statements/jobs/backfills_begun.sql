-- backfill: how far its planning is, one or a job's newest ones, from its row alone. Locks nothing. Indexes: the primary key,
-- backfills_job.
select b.id, b.job_id, b.starts_at, b.ends_at, b.reached, b.rate, b.state, b.instants, b.planned, b.passed_over, b.created_at,
       b.updated_at
  from pgsched.backfills b
 where (%(backfill)s::uuid is null or b.id = %(backfill)s) and (%(job)s::uuid is null or b.job_id = %(job)s)
 order by b.id desc limit %(limit)s
