-- doctor: the number of jobs that have waited for a planner longer than `seconds`, and the number of invalid jobs, each
-- counted up to a limit. Locks nothing. Indexes: jobs_unplanned, jobs_invalid.
select (select count(*) filter (where found.updated_at < clock_timestamp() - make_interval(secs => %(seconds)s)) from (
          select j.updated_at from pgsched.jobs j where j.state = 'active' and j.planned_revision <> j.revision
           order by j.client_id, j.id limit %(most)s) found)::integer as unplanned,
       (select count(*) from (
          select from pgsched.jobs j where j.state = 'invalid' order by j.client_id, j.id limit %(most)s) found)::integer as invalid
