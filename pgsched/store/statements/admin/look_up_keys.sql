-- Keys of the API by their ids, for whoever checks secrets. Locks nothing. Index: the primary key.
select id, hash, former_hash, former_left, subject, clients, scopes, expires_in, revoked, rate, burst
  from pgsched_internal.look_up_keys(%(ids)s)
