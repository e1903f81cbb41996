-- tzdata: deletes the rows of jobs that no longer have a next instant, or whose next instant cannot be computed. The
-- planner then decides what happens to the jobs. Indexes: the primary keys.
with gone as (
  delete from pgsched.executions e where e.partition = any (%(partitions)s::smallint[]) and e.id = any (%(rows)s::uuid[])
  returning e.job_id, e.scheduled_for
)
update pgsched.jobs j
   set planned_revision = 0,
       accounted_to = (select max(g.scheduled_for) - interval '1 microsecond' from gone g where g.job_id = j.id)
 where j.id = any (array(select job_id from gone))
