-- worker: has one begin nothing more.
select pgsched.drain_worker(%(worker)s, %(note)s::text, %(actor)s::text)
