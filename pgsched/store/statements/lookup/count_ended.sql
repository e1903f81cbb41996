-- overview: counts the newest ended executions by status, up to a limit, and reports whether the limit was reached.
-- Locks nothing. Indexes: history_id, the primary key of kept_dead_letters.
with found as (
  (select h.status from pgsched.history h order by h.id desc limit %(most)s)
  union all
  (select k.status from pgsched_internal.kept_dead_letters k order by k.id desc limit %(most)s)
)
select f.status::text, count(*), sum(count(*)) over () >= %(most)s as cut from found f group by f.status
