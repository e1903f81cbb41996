-- reach: the last of the rows of a table that may be read, in the page's order; null if there are fewer. Part of a
-- query. Locks nothing.
(select r.id from {table} r where true{clauses} order by r.id{order} offset {most} limit 1)
