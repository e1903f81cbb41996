-- Whether there is a job with this id. Index: the primary key.
select exists (select from pgsched.jobs where id = %(id)s)
