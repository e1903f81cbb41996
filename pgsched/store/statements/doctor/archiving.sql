-- doctor: if archiving of the write-ahead log fails, the file that last failed and how many seconds ago it failed.
-- Returns no row if a file has been archived since.
select a.last_failed_wal as name, extract(epoch from pg_catalog.clock_timestamp() - a.last_failed_time)::float8 as seconds
  from pg_catalog.pg_stat_archiver a
 where a.last_failed_time > coalesce(a.last_archived_time, '-infinity') and pg_catalog.current_setting('archive_mode') <> 'off'
