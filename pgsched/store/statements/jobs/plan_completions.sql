-- plan: inserts the successors of jobs whose next instant is counted from the end of a run. These successors have no
-- nominal instant yet, and are held until the claimed row of this partition ends. The claim has already locked the jobs
-- (hold_jobs). Indexes: as in plan_successors; the primary key.
with wanted as materialized (
  select * from unnest(%(clients)s::text[], %(jobs)s, %(revisions)s, %(after)s, %(delays)s::interval[])
             as n(client_id, job_id, revision, after_id, delay)
), made as (
  insert into pgsched_internal.executions_{p} (fire_at, job_id, plan, partition, client_id, target, payload, options, ordering_key)
  select 'infinity', j.id, j.revision, {p}, j.client_id, j.target, j.payload, j.options, j.ordering_key
    from wanted w cross join lateral (
      select * from pgsched.jobs j
       where j.client_id = w.client_id and j.id = w.job_id and j.revision = w.revision and j.state::text = 'active'
         for share skip locked) j
  returning id, job_id
), marked as (
  update pgsched_internal.executions_{p} e set awaited = true where e.id = any (%(after)s)
)
insert into pgsched.dependencies (execution_id, after_id, outcome, delay)
select made.id, w.after_id, 'any', w.delay from made join wanted w on w.job_id = made.job_id
