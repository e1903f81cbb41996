-- settle: locks these jobs, except those that another transaction has locked, so that the outcomes of their runs can be
-- counted. Index: the primary key.
select j.id from pgsched.jobs j where j.id = any (%(jobs)s) order by j.id for no key update skip locked
