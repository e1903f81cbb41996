-- release: hands back the rows of a claim whose result never arrived. Reads each partition's due rows after its instant
-- in `lows`: the next `depth` rows, and those due at the same instant as the last. Skips rows that another transaction
-- has locked. Returns for each partition the instant at which reading stopped, if there may be more rows, and the
-- instant of the first skipped row. Needed only after a connection broke during a claim. Index: executions_fire_at, and
-- then the primary key.
with edge as materialized (
  select p.partition, due.fire_at, due.id, due.taken
    from unnest(%(partitions)s::smallint[], %(lows)s) as p(partition, low),
         lateral (select e.fire_at, e.id, e.lease_token = any (%(tokens)s) as taken from pgsched.executions e
                   where e.partition = p.partition and e.fire_at > p.low and e.fire_at <= pgsched.now() + interval '1 minute'
                   order by e.fire_at fetch first %(depth)s rows with ties) due
), free as materialized (
  select e.id from pgsched.executions e
   where e.partition = any (%(partitions)s::smallint[]) and e.id = any (array(select id from edge where taken))
     and e.lease_token = any (%(tokens)s) for update skip locked
), released as (
  update pgsched.executions e
     set lease_owner = null, lease_token = null, lease_expires_at = null, attempt = e.attempt - 1, plan = -abs(e.plan)
   where e.partition = any (%(partitions)s::smallint[]) and e.id = any (array(select id from free)) and e.lease_token = any (%(tokens)s)
  returning e.id
), passed_over as (
  select d.partition, min(d.fire_at) as first from edge d where d.taken and d.id not in (select id from released) group by d.partition
)
select d.partition, case when count(*) >= %(depth)s then max(d.fire_at) end,
       (select p.first from passed_over p where p.partition = d.partition)
  from edge d group by d.partition
having count(*) >= %(depth)s or d.partition in (select p.partition from passed_over p)
