-- tzdata: deletes the rows of jobs that have no next instant any more, or none that can be computed. The planner then
-- decides what becomes of the jobs. Indexes: the primary keys.
with gone as (
  delete from pgsched.executions e where e.partition = any (%(partitions)s::smallint[]) and e.id = any (%(rows)s::uuid[])
  returning e.job_id, e.scheduled_for
)
update pgsched.jobs j
   set planned_revision = 0,
       accounted_to = (select max(g.scheduled_for) - interval '1 microsecond' from gone g where g.job_id = j.id)
 where j.id = any (array(select job_id from gone))
