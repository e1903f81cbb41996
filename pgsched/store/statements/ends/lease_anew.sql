-- claim: claimed rows that their targets may complete later are each leased under a token of their own. Fenced by the
-- claim's token; index: the primary key; "any (array[…])" keeps it from being read whole to be joined in its order.
update pgsched_internal.executions_{p} e set lease_token = o.own
  from unnest(%(ids)s, %(owns)s) as o(id, own)
 where e.id = any (array[o.id]) and e.lease_token = any (%(tokens)s)
