-- claim: reports whether each job is unchanged since its claimed row was planned and, if it has only been cancelled
-- since then, the time of the cancellation. Locks the jobs until the claim commits, so that a concurrent change finds
-- the next row already planned. Leaves out jobs that another transaction has locked. Indexes: as in plan_successors.
select j.id, j.revision = c.revision and j.state = 'active',
       case when j.revision = c.revision + 1 and j.state = 'cancelled' then j.updated_at end
  from unnest(%(clients)s::text[], %(jobs)s, %(revisions)s) as c(client_id, id, revision)
 cross join lateral (select * from pgsched.jobs j where j.client_id = c.client_id and j.id = c.id for no key update skip locked) j
