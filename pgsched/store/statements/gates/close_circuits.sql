-- circuits: deletes circuits that have let everything pass for long enough, and gates that were only shut by hand.
-- Gates that have limits return to normal.
with closed as (
  delete from pgsched_internal.gates g
   where g.recovers_from < pgsched.now() - %(after)s
     and (g.name like 'circuit:%%' or num_nonnulls(g.events, g.concurrency) = 0) returning g.name
), over as (
  update pgsched_internal.gates g set recovers_from = null, shut_until = null
   where g.recovers_from < pgsched.now() - %(after)s
     and g.name not like 'circuit:%%' and num_nonnulls(g.events, g.concurrency) > 0 returning g.name
)
select name from closed union all select name from over
