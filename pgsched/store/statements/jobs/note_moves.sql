-- tzdata: writes an audit entry for each job whose next instant changed under the new rules.
insert into pgsched.audit_log (actor, action, subject, kind, name, detail, before, after, client_id)
select 'pgsched', 'tzdata', m.job, 'job', m.job::text,
         jsonb_build_object('from', %(old)s::text, 'to', %(new)s::text, 'zone', m.zone),
         jsonb_build_object('fire_at', m.was), jsonb_build_object('fire_at', m.becomes),
         (select j.client_id from pgsched.jobs j where j.id = m.job)
  from unnest(%(jobs)s::uuid[], %(zones)s::text[], %(was)s::timestamptz[], %(becomes)s::timestamptz[]) as m(job, zone, was, becomes)
