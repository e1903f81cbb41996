-- settle: locks those of these jobs that nobody else has locked, for counting the outcomes of their runs. Index: the
-- primary key.
select j.id from pgsched.jobs j where j.id = any (%(jobs)s) order by j.id for no key update skip locked
