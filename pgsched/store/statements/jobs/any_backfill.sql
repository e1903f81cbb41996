-- backfill: whether there is anything to do. Locks nothing. Index: backfills_active.
select exists (select from pgsched.backfills b where b.state = 'active')
