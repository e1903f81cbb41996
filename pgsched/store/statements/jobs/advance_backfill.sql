-- backfill: how far it has come, in the transaction that planned so far.
update pgsched.backfills
   set reached = %(reached)s, paced_until = %(paced_until)s, planned = planned + %(planned)s,
       passed_over = passed_over + %(passed_over)s, instants = %(instants)s, updated_at = pgsched.now()
 where id = %(backfill)s
