-- resume: resumes all jobs of a client, or those with some labels.
select pgsched.resume_all(%(client)s::text, %(labels)s::jsonb, %(note)s::text, %(actor)s::text)
