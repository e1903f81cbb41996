-- Whether a job with this id exists. Index: the primary key.
select exists (select from pgsched.jobs where id = %(id)s)
