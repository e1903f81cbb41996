-- tzdata: which of these jobs are active, also those that somebody has in hand. Locks nothing. Index: the primary key.
select j.id from pgsched.jobs j where j.id = any (%(jobs)s) and j.state = 'active'
