-- claim: the jobs of claimed rows after which further instants have passed, whether they are still as they were when the
-- row was planned, and if not, when they were cancelled, where nothing else has happened to them. Locks the jobs
-- until the claim commits, so that whoever changes one finds it carried on; says nothing of one that somebody else has
-- locked. Indexes: as plan_successors.
select j.id, j.revision = c.revision and j.state = 'active',
       case when j.revision = c.revision + 1 and j.state = 'cancelled' then j.updated_at end
  from unnest(%(clients)s::text[], %(jobs)s, %(revisions)s) as c(client_id, id, revision)
 cross join lateral (select * from pgsched.jobs j where j.client_id = c.client_id and j.id = c.id for no key update skip locked) j
