-- plan: the jobs whose newest revision has no row yet, by id. Locks nothing. Index: jobs_unplanned.
select j.id from pgsched.jobs j where j.state = 'active' and j.planned_revision <> j.revision order by j.id limit %(batch)s
