-- The last of so many changes that a page of the audit log looks through; none where there are fewer. Locks nothing. Indexes:
-- audit_log_subject, audit_log_name, or the primary key backwards.
select l.id from pgsched.audit_log l
 where (%(subject)s::uuid is null or l.subject = %(subject)s) and (%(name)s::text is null or l.name = %(name)s)
   and (%(after)s::bigint is null or l.id < %(after)s)
 order by l.id desc offset %(most)s - 1 limit 1
