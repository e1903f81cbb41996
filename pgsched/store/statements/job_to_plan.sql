-- plan: one job, in the transaction that made or changed it.
select * from pgsched.jobs j where j.id = %(job)s and j.state = 'active' for update
