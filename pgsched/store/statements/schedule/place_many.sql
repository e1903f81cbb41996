-- schedule: schedules, one after another, one-shots that set on_conflict. pgsched.schedule_outcome documents its locks.
select placed.id, placed.outcome
  from unnest(%(target)s::text[], %(payload)s::text[], %(fire_at)s::timestamptz[], %(client)s::text[], %(key)s::text[],
              %(ordering_key)s::text[], %(queue)s::text[], %(options)s::text[], %(on_conflict)s::text[], %(labels)s::text[])
         as o(target, payload, fire_at, client, key, ordering_key, queue, options, on_conflict, labels),
       lateral pgsched.schedule_outcome(
         target => o.target, payload => o.payload::jsonb, fire_at => o.fire_at, client => o.client, key => o.key,
         ordering_key => o.ordering_key, queue => o.queue, options => o.options::jsonb, on_conflict => o.on_conflict,
         labels => o.labels::jsonb) as placed
