-- report: keeps what handlers have said of how far they are, and what they go on from. What is not said stays as it was. Fenced by the
-- token; returns whose reports were taken. Indexes: executions_pkey, progress_pkey.
insert into pgsched.progress as p (execution_id, partition, client_id, fraction, note, checkpoint)
select e.id, e.partition, e.client_id, o.fraction, o.note, o.checkpoint
  from unnest(%(ids)s::uuid[], %(partitions)s::smallint[], %(tokens)s::bigint[], %(fractions)s::real[], %(notes)s::text[],
              %(checkpoints)s::jsonb[]) as o(id, partition, token, fraction, note, checkpoint)
  join pgsched.executions e on e.partition = o.partition and e.id = o.id and e.lease_token = o.token
on conflict (execution_id) do update
  set fraction = coalesce(excluded.fraction, p.fraction),
      note = case when excluded.fraction is null then p.note else excluded.note end,
      checkpoint = coalesce(excluded.checkpoint, p.checkpoint), reported_at = excluded.reported_at
returning p.execution_id
