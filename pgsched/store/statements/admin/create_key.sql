-- Makes a key of the API. pgsched_internal.create_key says what it refuses.
select pgsched_internal.create_key(%(id)s, %(hash)s, %(subject)s, %(clients)s, %(scopes)s, %(expires_at)s, actor => %(actor)s::text,
  rate => %(rate)s::integer, burst => %(burst)s::integer)
