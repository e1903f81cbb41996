-- schedule: inserts one-shots with a key, ordering key, labels or queue. The database computes the partition.
insert into pgsched.executions (target, payload, fire_at, client_id, key, ordering_key, partition, options, labels)
select o.target, o.payload::jsonb, o.fire_at, o.client, o.key, o.ordering_key,
       pgsched.partition_for(o.queue, o.client, o.key, o.ordering_key), o.options::jsonb,
       o.labels::jsonb
  from unnest(%(target)s::text[], %(payload)s::text[], %(fire_at)s::timestamptz[], %(client)s::text[], %(key)s::text[],
              %(ordering_key)s::text[], %(queue)s::text[], %(options)s::text[], %(labels)s::text[])
         as o(target, payload, fire_at, client, key, ordering_key, queue, options, labels)
returning id, 'created'
