-- What a worker needs to know about queues, by first partition: the defaults of their executions, and their weights.
select first_partition, options, weight from pgsched.queues
