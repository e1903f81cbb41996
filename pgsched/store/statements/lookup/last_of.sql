-- reach: the last of so many rows of a table to look at, in the order of a page; null where there are fewer. Part of a query. Locks nothing.
(select r.id from {table} r where true{clauses} order by r.id{order} offset {most} limit 1)
