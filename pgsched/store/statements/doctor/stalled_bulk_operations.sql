-- doctor: active bulk operations, created more than `seconds` ago, that have a reason for waiting or have made no
-- progress for `seconds`. Locks nothing. Index: bulk_operations_active.
select b.id, b.action, b.reason, extract(epoch from clock_timestamp() - b.updated_at)::float8 as seconds
  from pgsched.bulk_operations b, (select clock_timestamp() - make_interval(secs => %(seconds)s) as at) bound
 where b.state = 'active' and b.created_at < bound.at and (b.updated_at < bound.at and coalesce(b.paced_until, '-infinity') < bound.at or b.reason is not null)
 order by b.id limit %(most)s
