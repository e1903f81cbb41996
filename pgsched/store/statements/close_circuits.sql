-- circuits: those that have let everything pass for long enough are gone; other gates are as they were before.
with closed as (
  delete from pgsched.gates g where g.name like 'circuit:%%' and g.recovers_from < pgsched.now() - %(after)s returning g.name
), over as (
  update pgsched.gates g set recovers_from = null where g.name not like 'circuit:%%' and g.recovers_from < pgsched.now() - %(after)s
  returning g.name
)
select name from closed union all select name from over
