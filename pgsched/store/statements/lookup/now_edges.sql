-- now: counts the due and the running executions at the edge of each queue, by queue, client and worker. Returns how
-- many there are, how many seconds late the oldest is, and how many of the due executions are in paused queues. Reads
-- at most a given number of rows of each partition, oldest first, and returns whether more are due. Rows are claimed a
-- moment before they are due. Rows that were put off for a moment because no worker had a free slot count from the time
-- when they were first due. Locks nothing. Index: executions_fire_at, one partition after another.
with partitions as (
  select q.name as queue, q.paused_at is not null as paused, p as partition
    from (select q.name, q.first_partition, q.paused_at from pgsched.queues q order by q.name limit %(queues)s) q,
         pgsched_internal.partitions_of(q.first_partition) p
), sample as materialized (
  select p.queue, p.paused, e.*,
         count(*) over (partition by p.partition) >= %(most)s and max(e.fire_at) over (partition by p.partition) <= clock_timestamp() as cut
    from partitions p cross join lateral (
      select e.client_id::text as client, e.lease_owner as worker, e.lease_expires_at is not null as held, e.fire_at,
             case when e.attempt = 0 and e.reason ^@ %(no_slot)s then coalesce(e.start_at, e.scheduled_for, e.fire_at) else e.fire_at end as due
        from pgsched.executions e
       where e.partition = p.partition and e.fire_at <= clock_timestamp() + interval '2 seconds'
       order by e.fire_at limit %(most)s) e
)
select s.queue, s.client, s.worker, count(*) filter (where not s.held) as due, count(*) filter (where s.held) as in_hand,
       count(*) filter (where not s.held and s.paused) as paused,
       bool_or(s.cut) as cut,
       extract(epoch from clock_timestamp() - min(s.due) filter (where not s.held))::float8 as oldest_due,
       extract(epoch from clock_timestamp() - min(s.fire_at) filter (where s.held))::float8 as oldest_in_hand
  from sample s
 where s.held or s.due <= clock_timestamp()
 group by grouping sets ((s.queue), (s.client), (s.worker))
