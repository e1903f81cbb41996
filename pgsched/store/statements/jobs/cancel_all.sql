-- cancel: cancels all jobs of a client, or those with some labels.
select pgsched.cancel_all(%(client)s::text, %(labels)s::jsonb, %(note)s::text, %(actor)s::text)
