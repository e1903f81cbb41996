-- pull: hands executions of a queue to a consumer. pgsched.claim documents its locks. Tokens are text, because many
-- JSON parsers cannot hold all digits of a bigint.
select id, token::text, attempt, delivery_count, scheduled_for, client, key, ordering_key, job_id, payload, target, options, lease_expires_at
  from pgsched.claim(%(queue)s, %(worker)s, %(batch)s, %(lease)s)
