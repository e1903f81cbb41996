-- pull: hands executions of a queue to a consumer. pgsched.claim says what it locks.
select * from pgsched.claim(%(queue)s, %(worker)s, %(batch)s, %(lease)s)
