-- The sweep: which jobs a part of it looks at. Locks nothing. Index: the primary key.
select j.id from pgsched.jobs j where j.id > %(after)s order by j.id limit %(most)s
