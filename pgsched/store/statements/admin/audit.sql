-- The audit log, the newest first, and of it what the session may see; by what has no index, among so many changes at the most, or (null) among all. Locks nothing.
-- Indexes: audit_log_client, audit_log_subject, audit_log_name, or the primary key backwards.
select a.id, a.at, a.client_id as client, a.actor, a.authenticated, a.action, a.kind, a.name, a.subject, a.before, a.after, a.detail, a.login, a.process,
       a.transaction::text as transaction
  from (select l.* from pgsched.audit_log l
         where (%(client)s::text is null or l.client_id = %(client)s) and (%(subject)s::uuid is null or l.subject = %(subject)s) and (%(name)s::text is null or l.name = %(name)s)
           and (%(after)s::bigint is null or l.id < %(after)s)
         order by l.id desc limit %(most)s) a
 where (%(kind)s::text is null or a.kind = %(kind)s) and (%(action)s::text is null or a.action = %(action)s)
   and (%(actor)s::text is null or a.actor = %(actor)s or a.authenticated = %(actor)s)
 order by a.id desc limit %(limit)s
