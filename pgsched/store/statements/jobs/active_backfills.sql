-- backfill: those that are not done yet. Locks nothing. Index: backfills_active.
select b.id from pgsched.backfills b where b.state = 'active' order by b.id
