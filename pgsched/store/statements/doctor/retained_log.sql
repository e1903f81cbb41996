-- doctor: slots for which the server retains write-ahead log, with the number of bytes, and slots that have lost log
-- they need. The largest come first. Locks nothing.
select s.slot_name::text as name, s.active, coalesce(s.wal_status = 'lost', false) as lost,
       pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), s.restart_lsn)::bigint as bytes
  from pg_catalog.pg_replication_slots s
 where (s.restart_lsn is not null or s.wal_status = 'lost') and not pg_catalog.pg_is_in_recovery()
 order by bytes desc nulls first limit %(most)s
