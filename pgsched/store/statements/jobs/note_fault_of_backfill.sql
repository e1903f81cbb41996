-- backfill: why one that could not go on was ended. Index: the primary key.
update pgsched.backfills b set reason = %(reason)s where b.id = %(backfill)s
