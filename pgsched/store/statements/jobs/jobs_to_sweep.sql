-- The sweep: the next page of jobs to check. Locks nothing. Index: the primary key.
select j.id from pgsched.jobs j where j.id > %(after)s order by j.id limit %(most)s
