-- claim: gives a token of its own to each claimed row that its target may complete later. Fenced by the claim's token.
-- Index: the primary key; "any (array[…])" prevents a merge join, which would read the index whole.
update pgsched_internal.executions_{p} e set lease_token = o.own
  from unnest(%(ids)s, %(owns)s) as o(id, own)
 where e.id = any (array[o.id]) and e.lease_token = any (%(tokens)s)
