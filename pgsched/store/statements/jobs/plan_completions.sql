-- plan: the successors of rows of one partition after whose end they are counted: held until then. They have no nominal
-- instant before. The claim has locked the jobs before (hold_jobs). Indexes: the primary keys.
with wanted as materialized (
  select * from unnest(%(jobs)s, %(revisions)s, %(after)s, %(delays)s::interval[]) as n(job_id, revision, after_id, delay)
), made as (
  insert into pgsched_internal.executions_{p} (fire_at, job_id, plan, partition, client_id, target, payload, options, ordering_key)
  select 'infinity', j.id, j.revision, {p}, j.client_id, j.target, j.payload, j.options, j.ordering_key
    from wanted w join pgsched.jobs j on j.id = any (array[w.job_id]) and j.revision = w.revision
   where j.state = 'active' for share of j skip locked
  returning id, job_id
), marked as (
  update pgsched_internal.executions_{p} e set awaited = true where e.id = any (%(after)s)
)
insert into pgsched.dependencies (execution_id, after_id, outcome, delay)
select made.id, w.after_id, 'any', w.delay from made join wanted w on w.job_id = made.job_id
