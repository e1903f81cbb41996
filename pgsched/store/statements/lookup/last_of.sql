-- reach: the last row of a table that a page may read, in the page's order; null if the table has fewer rows. Part of a
-- query. Locks nothing.
(select r.id from {table} r where true{clauses} order by r.id{order} offset {most} limit 1)
