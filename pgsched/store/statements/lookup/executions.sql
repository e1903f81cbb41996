-- page: merges the parts of a page of executions and returns its first rows. The parts are live executions, ended
-- executions, and dead letters that are kept longer.
select * from ({parts}) r order by r.id{order} limit %(limit)s
