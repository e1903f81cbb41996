-- report: stores the progress and checkpoints that handlers report. A value that a report leaves out stays unchanged.
-- Fenced by the token; returns the executions whose reports were accepted. Indexes: the primary key of each partition,
-- progress_pkey.
with leased as materialized (
  select e.id, e.partition, e.client_id, e.lease_token from pgsched.executions e
   where e.id = any (%(ids)s) and e.lease_token = any (%(tokens)s)
)
insert into pgsched.progress as p (execution_id, partition, client_id, fraction, note, checkpoint)
select l.id, l.partition, l.client_id, o.fraction, o.note, o.checkpoint
  from unnest(%(ids)s, %(tokens)s, %(fractions)s::real[], %(notes)s::text[], %(checkpoints)s::jsonb[])
         as o(id, token, fraction, note, checkpoint)
  join leased l on l.id = o.id and l.lease_token = o.token
on conflict (execution_id) do update
  set fraction = coalesce(excluded.fraction, p.fraction),
      note = case when excluded.fraction is null then p.note else excluded.note end,
      checkpoint = coalesce(excluded.checkpoint, p.checkpoint), reported_at = excluded.reported_at
returning p.execution_id
