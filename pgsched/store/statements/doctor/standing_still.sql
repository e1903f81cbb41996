-- doctor: bulk changes and backfills that are active, were asked for so many seconds ago, and have not been carried on for as
-- long, or wait for something. Locks nothing. Indexes: bulk_changes_active, backfills_active.
with bound as (select clock_timestamp() - make_interval(secs => %(seconds)s) as at)
(select 'bulk change' as kind, b.id, b.reason, extract(epoch from clock_timestamp() - b.updated_at)::float8 as seconds
   from pgsched.bulk_changes b, bound
  where b.state = 'active' and b.created_at < bound.at and (b.updated_at < bound.at and coalesce(b.paced_until, '-infinity') < bound.at or b.reason is not null)
  order by b.id limit %(most)s)
union all
(select 'backfill', b.id, b.reason, extract(epoch from clock_timestamp() - b.updated_at)::float8
   from pgsched.backfills b, bound
  where b.state = 'active' and b.created_at < bound.at and (b.updated_at < bound.at and coalesce(b.paced_until, '-infinity') < bound.at or b.reason is not null)
  order by b.id limit %(most)s)
