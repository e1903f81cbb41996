-- The audit log, the newest first. Locks nothing. Indexes: audit_log_subject, audit_log_name, or the primary key backwards.
select a.id, a.at, a.actor, a.authenticated, a.action, a.kind, a.name, a.subject, a.before, a.after, a.detail, a.login, a.process,
       a.transaction::text as transaction
  from pgsched.audit_log a
 where (%(subject)s::uuid is null or a.subject = %(subject)s) and (%(kind)s::text is null or a.kind = %(kind)s)
   and (%(name)s::text is null or a.name = %(name)s) and (%(action)s::text is null or a.action = %(action)s)
   and (%(actor)s::text is null or a.actor = %(actor)s or a.authenticated = %(actor)s) and (%(after)s::bigint is null or a.id < %(after)s)
 order by a.id desc limit %(limit)s
