-- Whether consumers claim from a queue; by columns that every role reads. Index: the primary key.
select q.pulled from pgsched.queues q where q.name = %(name)s
