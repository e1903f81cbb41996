-- Checks whether consumers claim from a queue. Reads only columns that every role may read. Index: the primary key.
select q.pulled from pgsched.queues q where q.name = %(name)s
