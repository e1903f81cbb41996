-- Rollups: how much was done in each minute, and how late it began, by queue and client. Workers count attempts and
-- plain successes in memory, and add these counts to the table every few seconds. Any other end is noted in the
-- transaction in which it happens, and workers add the notes to the rollups later. Such a transaction may belong to a
-- client and stay open, so it must not lock rows of the rollups.

create or replace function pgsched_internal.count_later(
  client text, partition smallint, status pgsched.execution_status, count bigint, bucket smallint default null
) returns void language sql volatile as $$
  insert into pgsched_internal.counts_to_roll_up (noted_at, count, status, partition, bucket, client_id)
  values (pgsched.now(), count_later.count, count_later.status, count_later.partition, count_later.bucket, client)
$$;
comment on function pgsched_internal.count_later(text, smallint, pgsched.execution_status, bigint, smallint)
  is 'Notes ends with this status for the rollups, or attempts if the status is null.';

create or replace function pgsched_internal.buckets() returns float8[] language sql immutable parallel safe
  return array[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 45, 60, 75, 90, 120, 150, 180, 240,
    300, 450, 600, 900, 1200, 1800, 2700, 3600]::float8[];
comment on function pgsched_internal.buckets()
  is 'The upper bounds of the histogram buckets of rollups, in seconds. One more bucket counts everything above the last
bound.';

create or replace function pgsched_internal.sum_of(counts integer[], more integer[]) returns integer[] language sql immutable parallel safe as $$
  select case when counts is null then more when more is null then counts
              else array(select coalesce(c.one, 0) + coalesce(c.other, 0) from unnest(counts, more) with ordinality c(one, other, n) order by c.n) end
$$;
comment on function pgsched_internal.sum_of(integer[], integer[]) is 'The sum of two histograms.';

create or replace function pgsched_internal.histogram_of(buckets smallint[], counts bigint[]) returns integer[]
  language sql immutable parallel safe as $$
  select case when array_remove(buckets, null) <> '{}' then array(
    select coalesce(sum(c.count), 0)::integer
      from generate_series(0, cardinality(pgsched_internal.buckets())) n left join unnest(buckets, counts) c(bucket, count) on c.bucket = n
     group by n order by n) end
$$;
comment on function pgsched_internal.histogram_of(smallint[], bigint[])
  is 'The histogram with these counts in these buckets, numbered from 0; null if there are none.';

create or replace function pgsched_internal.quantile(counts integer[], share float8) returns float8 language sql immutable parallel safe
begin atomic
  with bucket as (
    select c.n, c.count, sum(c.count) over (order by c.n) as up_to, sum(c.count) over () * quantile.share as wanted
      from unnest(counts) with ordinality c(count, n)
  )
  select case when b.n > cardinality(pgsched_internal.buckets()) then (pgsched_internal.buckets())[b.n - 1]
              else coalesce((pgsched_internal.buckets())[b.n - 1], 0) + (b.wanted - (b.up_to - b.count)) / b.count
                   * ((pgsched_internal.buckets())[b.n] - coalesce((pgsched_internal.buckets())[b.n - 1], 0)) end
    from bucket b where b.count > 0 and b.up_to >= b.wanted order by b.n limit 1;
end;
comment on function pgsched_internal.quantile(integer[], float8)
  is 'The number of seconds below which this share of the values in a histogram of pgsched.rollups lies. It is as
precise as the buckets allow, and null if the histogram is empty.';

-- If every client had a row for every minute, 30 days would be too much to store. So a minute has at most a thousand
-- rows, at most half of them for clients without settings, whose names can be anything. The rows for all clients
-- together count everything. Rows are inserted in a fixed order, so that concurrent workers wait for each other without
-- deadlocks. No one else can lock these rows.
create or replace function pgsched_internal.add_to_rollups(added pgsched.rollups[]) returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  insert into pgsched.rollups as r (minute, attempts, failed_attempts, succeeded, failed, cancelled, expired, skipped, client_id, queue,
                                    lateness, duration)
  select f.minute, coalesce(f.attempts, 0), coalesce(f.failed_attempts, 0), coalesce(f.succeeded, 0), coalesce(f.failed, 0),
         coalesce(f.cancelled, 0), coalesce(f.expired, 0), coalesce(f.skipped, 0), f.client_id, f.queue, f.lateness, f.duration
    from (
      select a.*, k.is_old, k.is_known,
             row_number() over (partition by a.minute, k.is_old or a.client_id = '' order by k.is_known desc, a.attempts desc nulls last, a.client_id, a.queue)
             + (select count(*) from pgsched.rollups t where t.minute = a.minute and t.client_id <> '') as place
        from unnest(added) a cross join lateral (
          select exists (select from pgsched.rollups o where o.client_id = a.client_id and o.minute = a.minute and o.queue = a.queue) as is_old,
                 exists (select from pgsched.clients c where c.client_id = a.client_id) as is_known) k
    ) f
   where f.client_id = '' or f.is_old or f.place <= case when f.is_known then 1000 else 500 end
   order by f.client_id, f.minute, f.queue
  on conflict (client_id, minute, queue) do update
     set attempts = r.attempts + excluded.attempts, failed_attempts = r.failed_attempts + excluded.failed_attempts,
         succeeded = r.succeeded + excluded.succeeded, failed = r.failed + excluded.failed, cancelled = r.cancelled + excluded.cancelled,
         expired = r.expired + excluded.expired, skipped = r.skipped + excluded.skipped,
         lateness = pgsched_internal.sum_of(r.lateness, excluded.lateness), duration = pgsched_internal.sum_of(r.duration, excluded.duration);
end $$;
comment on function pgsched_internal.add_to_rollups(pgsched.rollups[])
  is 'Adds counts to the rows of their minutes, for a limited number of clients per minute.';

create or replace function pgsched_internal.roll_up(counted jsonb) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.add_to_rollups(array(select c from jsonb_populate_recordset(null::pgsched.rollups, counted) c));
end $$;
comment on function pgsched_internal.roll_up(jsonb) is 'Adds a worker''s counts to the rollups.';

create or replace function pgsched_internal.roll_up_notes(most integer) returns integer
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  notes integer;
  added pgsched.rollups[];
begin
  with taken as (
    delete from pgsched_internal.counts_to_roll_up c
     where c.id = any (array(select n.id from pgsched_internal.counts_to_roll_up n limit most for update skip locked))
    returning c.*
  ), noted as (
    select t.*, date_trunc('minute', t.noted_at, 'UTC') as minute,
           coalesce(q.name, pgsched_internal.first_partition_of(t.partition)::text) as queue
      from taken t left join pgsched.queues q on q.first_partition = pgsched_internal.first_partition_of(t.partition)
  ), counted as (
    select count(*) as notes, grouping(n.client_id) as is_all, n.client_id, n.minute, n.queue,
           sum(n.count) filter (where n.status is null) as attempts,
           sum(n.count) filter (where n.status = 'retrying') as failed_attempts,
           sum(n.count) filter (where n.status = 'succeeded') as succeeded, sum(n.count) filter (where n.status = 'failed') as failed,
           sum(n.count) filter (where n.status = 'cancelled') as cancelled, sum(n.count) filter (where n.status = 'expired') as expired,
           sum(n.count) filter (where n.status = 'skipped') as skipped,
           pgsched_internal.histogram_of(array_agg(n.bucket), array_agg(n.count)) as lateness
      from noted n group by grouping sets ((n.minute, n.queue, n.client_id), (n.minute, n.queue))
  )
  select coalesce(sum(c.notes) filter (where c.is_all = 1), 0),
         array_agg((c.minute, c.attempts, c.failed_attempts, c.succeeded, c.failed, c.cancelled, c.expired, c.skipped, coalesce(c.client_id, ''),
                    c.queue, c.lateness, null)::pgsched.rollups)
    into notes, added from counted c;
  perform pgsched_internal.add_to_rollups(added);
  return notes;
end $$;
comment on function pgsched_internal.roll_up_notes(integer)
  is 'Adds notes to the rollups, up to a limit. Returns how many it added.';

create or replace view pgsched.minutes with (security_invoker = true) as
select r.minute, nullif(r.client_id, '') as client_id, r.queue,
       r.succeeded + r.failed + r.cancelled + r.expired + r.skipped as ended, r.succeeded, r.failed, r.cancelled, r.expired, r.skipped,
       r.attempts, r.failed_attempts, pgsched_internal.quantile(r.lateness, 0.5) as lateness_p50, pgsched_internal.quantile(r.lateness, 0.99) as lateness_p99,
       pgsched_internal.quantile(r.duration, 0.5) as duration_p50, pgsched_internal.quantile(r.duration, 0.99) as duration_p99
  from pgsched.rollups r;
comment on view pgsched.minutes
  is 'For each minute of the last 30 days, by queue and client: how many executions ended, how many attempts were made,
and how late the attempts began and how long they took, in seconds. Rows without a client count all clients together.';

-- Uses the second minute that was recorded after the transaction began: a part of the first may have been recorded
-- before, and a minute may have been updated long after it was over.
create or replace function pgsched_internal.seconds_since(transactions integer) returns float8
  language sql stable strict security definer set search_path = pg_catalog, pg_temp
begin atomic
  with recent as (
    select r.minute, max(age(r.xmin)) as age from pgsched.rollups r
     where r.client_id = '' and r.minute > pgsched.now() - interval '2 hours' group by r.minute
  )
  select extract(epoch from pgsched.now() - r.minute)::float8 from recent r
   where r.minute > coalesce((select max(o.minute) from recent o where o.age > seconds_since.transactions), '-infinity')
   order by r.minute offset 1 limit 1;
end;
comment on function pgsched_internal.seconds_since(integer)
  is 'The minimum number of seconds since a transaction began, estimated from how many transactions have started since,
and from the rollups of the last two hours; null if these have fewer than two minutes since then.';
