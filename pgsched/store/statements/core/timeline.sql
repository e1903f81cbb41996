-- The server's system identifier and its timeline, which distinguishes a promoted primary from the one it replaced. The
-- timeline is read from the position in the write-ahead log, because the first checkpoint after a promotion comes late.
-- Locks nothing.
select c.system_identifier, ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::bigint
  from pg_catalog.pg_control_system() c
