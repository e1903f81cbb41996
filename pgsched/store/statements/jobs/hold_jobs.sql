-- claim: the jobs of claimed rows after which further instants have passed, whether they are still as they were when the
-- row was planned, and if not, when they were cancelled, where nothing else has happened to them. Locks the jobs
-- until the claim commits, so that whoever changes one finds it carried on; says nothing of one that somebody else has
-- locked. Index: the primary key.
select j.id, j.revision = c.revision and j.state = 'active',
       case when j.revision = c.revision + 1 and j.state = 'cancelled' then j.updated_at end
  from unnest(%(jobs)s, %(revisions)s) as c(id, revision) join pgsched.jobs j on j.id = any (array[c.id])
   for no key update of j skip locked
