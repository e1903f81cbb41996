-- What a worker must know of the queues, by their first partitions: the defaults of their executions, and their weights.
select first_partition, options, weight from pgsched.queues
