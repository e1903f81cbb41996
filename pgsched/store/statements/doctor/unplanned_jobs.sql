-- doctor: how many jobs have waited for a planner for so many seconds, and how many are invalid; counted up to a bound. Locks
-- nothing. Indexes: jobs_unplanned, jobs_invalid.
select (select count(*) from (
          select from pgsched.jobs j
           where j.state = 'active' and j.planned_revision <> j.revision
             and j.updated_at < clock_timestamp() - make_interval(secs => %(seconds)s) limit %(most)s) found)::integer as unplanned,
       (select count(*) from (select from pgsched.jobs j where j.state = 'invalid' limit %(most)s) found)::integer as invalid
