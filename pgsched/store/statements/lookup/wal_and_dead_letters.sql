-- metrics: the bytes that the server has written to its log, and how many of the newest dead letters nobody has dealt with, of so many
-- in history and of those that outlived it. Locks nothing. Indexes: history_failed of each day, the primary key of kept_dead_letters.
with newest as (
  (select h.dealt_with_at from pgsched.history h where h.status = 'failed' order by h.id desc limit %(most)s)
  union all
  (select k.dealt_with_at from pgsched_internal.kept_dead_letters k where k.status = 'failed' order by k.id desc limit %(most)s)
)
select (select w.wal_bytes from pg_catalog.pg_stat_wal w) as written, count(*) filter (where n.dealt_with_at is null) as letters
  from newest n
