-- worker: has one that was drained begin again.
select pgsched.resume_worker(%(worker)s, %(note)s::text, %(actor)s::text)
