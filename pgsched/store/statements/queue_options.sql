-- The defaults of the executions in a queue, by the queue's first partition.
select first_partition, options from pgsched.queues where options is not null
