-- tzdata: the account of each job whose next instant is another one by the new rules.
insert into pgsched.audit_log (actor, action, subject, detail)
select 'pgsched', 'tzdata', m.job, jsonb_build_object('from', %(old)s::text, 'to', %(new)s::text, 'zone', m.zone, 'was', m.was,
         'becomes', m.becomes)
  from unnest(%(jobs)s::uuid[], %(zones)s::text[], %(was)s::timestamptz[], %(becomes)s::timestamptz[]) as m(job, zone, was, becomes)
