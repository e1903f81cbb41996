-- plan: the successor of a row after whose end it is counted: held until then. It has no nominal instant before.
with made as (
  insert into pgsched_internal.executions_{p} (fire_at, job_id, plan, partition, client_id, target, payload, options, ordering_key)
  select 'infinity', j.id, j.revision, {p}, j.client_id, j.target, j.payload, j.options, j.ordering_key
    from pgsched.jobs j where j.id = %(job)s and j.revision = %(revision)s and j.state = 'active' for share of j skip locked
  returning id
), marked as (
  update pgsched_internal.executions_{p} e set awaited = true where e.id = %(after)s
)
insert into pgsched.dependencies (execution_id, after_id, outcome, delay) select made.id, %(after)s, 'any', %(delay)s from made
