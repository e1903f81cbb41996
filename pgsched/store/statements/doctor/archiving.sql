-- doctor: how many seconds ago a file of the write-ahead log last failed to be archived, if none has been archived
-- since. Returns no row otherwise.
select a.last_failed_wal as name, extract(epoch from pg_catalog.clock_timestamp() - a.last_failed_time)::float8 as seconds
  from pg_catalog.pg_stat_archiver a
 where a.last_failed_time > coalesce(a.last_archived_time, '-infinity') and pg_catalog.current_setting('archive_mode') <> 'off'
