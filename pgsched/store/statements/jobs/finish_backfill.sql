-- backfill: it is finished when all its instants are accounted for and none of its rows is live any more.
-- Index: executions_job of each partition.
update pgsched.backfills b set state = 'finished', updated_at = pgsched.now()
 where b.id = %(backfill)s and b.state = 'active' and b.reached = b.ends_at
   and not exists (select from pgsched.executions e
                    where e.job_id = b.job_id and e.plan = 0
                      and e.scheduled_for >= b.starts_at and e.scheduled_for < b.ends_at)
returning b.planned, b.passed_over
