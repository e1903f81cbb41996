-- tzdata: which of these jobs are active, even if another transaction has locked them. Locks nothing. Index: the
-- primary key.
select j.id from pgsched.jobs j where j.id = any (%(jobs)s) and j.state = 'active'
