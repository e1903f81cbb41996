-- tzdata: the next page of active jobs whose instants depend on a time zone other than UTC. Locks nothing. Index: the
-- primary key.
select j.id from pgsched.jobs j
 where j.state = 'active' and j.id > %(after)s
   and (j.cron is not null and j.timezone <> 'UTC' or j.rules ?| array['also', 'exclude'])
 order by j.id limit %(batch)s
