-- reap: searches each partition's due rows after its mark for expired leases: the next `depth` rows, and those due at
-- the same instant as the last. Reports for each partition whether a lease had expired by a given moment and, if there
-- may be more rows, the instant at which the search stopped. Locks nothing. Index: executions_fire_at.
select p.partition, coalesce(edge.expired, false), edge.read_to
  from unnest(%(partitions)s::smallint[], %(lows)s) as p(partition, low),
       lateral (select bool_or(due.lease_expires_at < to_timestamp(%(ended_by)s)) as expired,
                       case when count(*) >= %(depth)s then max(due.fire_at) end as read_to
                  from (select e.fire_at, e.lease_expires_at from pgsched.executions e
                         where e.partition = p.partition and e.fire_at > p.low
                           and e.fire_at <= pgsched.now() + interval '1 minute'
                         order by e.fire_at fetch first %(depth)s rows with ties) due) edge
