-- page: the first of the executions found by its parts: live executions, ended executions, and dead letters that are
-- kept longer.
select * from ({parts}) r order by r.id{order} limit %(limit)s
