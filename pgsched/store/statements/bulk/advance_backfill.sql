-- bulk: records a backfill's progress, in the transaction that planned the rows.
update pgsched.bulk_operations
   set reached_at = %(reached_at)s, paced_until = %(paced_until)s, done = done + %(done)s, skipped = skipped + %(skipped)s, total = %(total)s,
       updated_at = pgsched.now()
 where id = %(operation)s
