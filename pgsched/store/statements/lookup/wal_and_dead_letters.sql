-- metrics: the bytes written to the write-ahead log; how many of the newest dead letters are open, among a limited
-- number in history and a limited number that have outlived it; and how many dead letters, open or not, were added in
-- the last 15 minutes. Locks nothing. Indexes: history_failed of each day, the primary keys of kept_dead_letters and of
-- each day of rollups.
with newest as (
  (select h.dealt_with_at from pgsched.history h where h.status = 'failed' order by h.id desc limit %(most)s)
  union all
  (select k.dealt_with_at from pgsched_internal.kept_dead_letters k where k.status = 'failed' order by k.id desc limit %(most)s)
)
select (select w.wal_bytes from pg_catalog.pg_stat_wal w) as written, count(*) filter (where n.dealt_with_at is null) as letters,
       (select coalesce(sum(r.failed), 0)::bigint from pgsched.rollups r
         where r.client_id = '' and r.minute > pgsched.now() - interval '15 minutes') as recent
  from newest n
