-- page: the audit log, newest first. Conditions that no index covers are checked on up to `most` changes. Locks
-- nothing. Indexes: audit_log_client, audit_log_subject, audit_log_name, or the primary key backwards.
select l.id, l.at, l.client_id as client, l.actor, l.authenticated, l.action, l.kind, l.name, l.subject, l.before, l.after, l.detail, l.login,
       l.process, l.transaction::text
  from (select r.* from pgsched.audit_log r where true{clauses} order by r.id{order} limit %(most)s) l
 where (%(kind)s::text is null or l.kind = %(kind)s) and (%(action)s::text is null or l.action = %(action)s)
   and (%(actor)s::text is null or %(actor)s in (l.actor, l.authenticated))
 order by l.id{order} limit %(limit)s
