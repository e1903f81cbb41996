-- page: the first of the executions that its parts have found: live ones, those that have ended, dead letters that are kept longer.
select * from ({parts}) r order by r.id{order} limit %(limit)s
