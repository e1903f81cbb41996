-- bulk: marks a backfill as finished once all its instants are accounted for and none of its rows is live.
-- Index: executions_job of each partition.
update pgsched.bulk_operations b set state = 'finished', updated_at = pgsched.now()
 where b.id = %(operation)s and b.state = 'active'
   and not exists (select from pgsched.executions e
                    where e.job_id = b.job_id and e.plan = 0
                      and e.scheduled_for >= (b.filter ->> 'from')::timestamptz and e.scheduled_for < (b.filter ->> 'to')::timestamptz)
