-- Which server this is, and its timeline, by which a primary that was promoted is told from the one that it replaced. The timeline is
-- read off the log, because the first checkpoint after a promotion comes late. Locks nothing.
select c.system_identifier, ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::bigint
  from pg_catalog.pg_control_system() c
