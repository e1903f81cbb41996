-- tzdata: these jobs have no instant any more, or none that can be told: their rows go, and the planner says what becomes
-- of them. Indexes: the primary keys.
with gone as (
  delete from pgsched.executions e using unnest(%(rows)s::uuid[], %(partitions)s::smallint[]) as m(id, partition)
   where e.partition = m.partition and e.id = m.id
  returning e.job_id, e.scheduled_for
)
update pgsched.jobs j set planned_revision = 0, accounted_to = gone.scheduled_for - interval '1 microsecond'
  from gone where j.id = gone.job_id
