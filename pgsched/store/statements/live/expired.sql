-- reap: reports for each partition whether a lease had run out by a given moment among the next due rows from its mark
-- on (`depth` rows and those due at the same instant), and the instant at which it stopped, if there may be more. Locks
-- nothing. Index: executions_fire_at.
select p.partition, coalesce(edge.expired, false), edge.read_to
  from unnest(%(partitions)s::smallint[], %(lows)s) as p(partition, low),
       lateral (select bool_or(due.lease_expires_at < to_timestamp(%(ended_by)s)) as expired,
                       case when count(*) >= %(depth)s then max(due.fire_at) end as read_to
                  from (select e.fire_at, e.lease_expires_at from pgsched.executions e
                         where e.partition = p.partition and e.fire_at > p.low
                           and e.fire_at <= pgsched.now() + interval '1 minute'
                         order by e.fire_at fetch first %(depth)s rows with ties) due) edge
