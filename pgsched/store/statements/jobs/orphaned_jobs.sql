-- The sweep: among the next active jobs after a mark, finds those that no row will continue: no row is waiting, and no
-- running row has a successor still to be planned. Has these jobs planned again from the latest planned instant that
-- has a live or ended row, whatever the row's outcome. Rows that have passed gates (plan below 0) count. Triggered and
-- backfill rows do not, because they account for no earlier instants. If the client does not keep all history, planning
-- starts from now. Returns the last job checked if there may be more, and the number of jobs to plan. Indexes: the
-- primary key of jobs; executions_job; history_job.
with looked_at as materialized (
  select j.id, j.state = 'active' and j.planned_revision = j.revision
           and (select e.id from pgsched.executions e  -- "not exists" might be hashed and read them all
                 where e.partition = pgsched_internal.partition_of(j) and e.job_id = j.id
                   and e.plan = j.revision and e.attempt = 0 limit 1) is null as is_orphaned
    from pgsched.jobs j where j.id > %(after)s order by j.id limit %(most)s
), repaired as (
  update pgsched.jobs j
     set planned_revision = 0,
         accounted_to = case
           when coalesce((select c.keep from pgsched.clients c where c.client_id = j.client_id), 'all') <> 'all' then pgsched.now()
           else coalesce(greatest(
             (select max(e.scheduled_for) from pgsched.executions e where e.job_id = j.id and e.plan <> 0),
             (select max(coalesce(h.last_scheduled_for, h.scheduled_for)) from pgsched.history h
               where h.job_id = j.id and h.plan <> 0 and isfinite(h.scheduled_for))),
             j.accounted_to) end
   where j.id = any (array(
     select o.id from pgsched.jobs o
      where o.id = any (array(select l.id from looked_at l where l.is_orphaned))
        and o.state = 'active' and o.planned_revision = o.revision
        for update skip locked))
  returning j.id
)
select case when count(*) = %(most)s then max(id::text)::uuid end, (select count(*) from repaired) from looked_at
