-- Clauses that a statement may have where it says {clauses}, each behind its name and what it is for. They are not parameters of
-- the statement, because plans are kept: a condition that a parameter switches off would still be evaluated for each row that is read,
-- a lock that nobody wants would be waited for, and an insert that expects a conflict costs a fifth more. Rows that are read are "due",
-- and in listings, whose conditions vary with the filter, "r".
-- What several statements select alike is here, too.

-- left: without what needs a capability that is left to other workers
and pgsched_internal.capability_of(due.target) <> all (%(left)s)
-- missed: without one-shots that need a capability that no worker has
and (pgsched_internal.capability_of(due.target) <> all (%(missed)s) or due.plan is not null)
-- refused: without rows with which the database lets nobody do anything
and due.id <> all (%(refused)s)
-- only: of one client
and due.client_id = %(only)s
-- plain: without what recurs or has an order
and due.plan is null and due.ordering_key is null
-- held: without the one-shots of clients that are held
and (due.client_id <> all (%(held)s) or due.plan is not null)
-- apart: without the clients that are claimed from apart
and due.client_id <> all (%(apart)s)
-- ordinary: without those whose priority is below 0
and (due.options ->> 'priority')::smallint < 0 is not true
-- planned: what recurs and is planned
and due.plan > 0
-- locked: has the gates that are read locked, without those that another transaction has
for update of g skip locked
-- free: locks what nobody else has locked, and leaves out the rest
for update skip locked
-- unless_it_stands: leaves out what somebody else has inserted already
on conflict do nothing
-- claimed: what a claim answers of a row. A payload that is large, or compressed and so of unknown size, is kept back (store/live/recorded_starts.py): its head tells both, without reading the rest
e.partition, e.id, e.lease_token, e.attempt, e.fire_at, coalesce(e.scheduled_for, e.fire_at) as scheduled_for, e.client_id, e.target,
          case when e.payload is null or (pg_column_size(e.payload) <= 8000 and pg_column_compression(e.payload) is null)
               then e.payload else '{"pgsched": "kept back"}'::jsonb end,
          e.options, e.job_id, e.plan, e.key, e.ordering_key, e.start_at, e.uncounted, e.losses
-- rolled_up: what rollups have counted, added up
sum(r.succeeded + r.failed + r.cancelled + r.expired + r.skipped)::bigint as ended, sum(r.succeeded)::bigint as succeeded,
       sum(r.failed)::bigint as failed, sum(r.cancelled)::bigint as cancelled, sum(r.expired)::bigint as expired,
       sum(r.skipped)::bigint as skipped, sum(r.attempts)::bigint as attempts, sum(r.failed_attempts)::bigint as failed_attempts,
       array[sum(r.lateness[1]), sum(r.lateness[2]), sum(r.lateness[3]), sum(r.lateness[4]), sum(r.lateness[5]),
         sum(r.lateness[6]), sum(r.lateness[7]), sum(r.lateness[8]), sum(r.lateness[9]), sum(r.lateness[10]),
         sum(r.lateness[11]), sum(r.lateness[12]), sum(r.lateness[13]), sum(r.lateness[14]), sum(r.lateness[15]),
         sum(r.lateness[16]), sum(r.lateness[17]), sum(r.lateness[18]), sum(r.lateness[19]), sum(r.lateness[20]),
         sum(r.lateness[21]), sum(r.lateness[22]), sum(r.lateness[23]), sum(r.lateness[24]), sum(r.lateness[25]),
         sum(r.lateness[26]), sum(r.lateness[27]), sum(r.lateness[28]), sum(r.lateness[29]), sum(r.lateness[30]),
         sum(r.lateness[31]), sum(r.lateness[32]), sum(r.lateness[33])]::bigint[] as lateness,
       array[sum(r.duration[1]), sum(r.duration[2]), sum(r.duration[3]), sum(r.duration[4]), sum(r.duration[5]),
         sum(r.duration[6]), sum(r.duration[7]), sum(r.duration[8]), sum(r.duration[9]), sum(r.duration[10]),
         sum(r.duration[11]), sum(r.duration[12]), sum(r.duration[13]), sum(r.duration[14]), sum(r.duration[15]),
         sum(r.duration[16]), sum(r.duration[17]), sum(r.duration[18]), sum(r.duration[19]), sum(r.duration[20]),
         sum(r.duration[21]), sum(r.duration[22]), sum(r.duration[23]), sum(r.duration[24]), sum(r.duration[25]),
         sum(r.duration[26]), sum(r.duration[27]), sum(r.duration[28]), sum(r.duration[29]), sum(r.duration[30]),
         sum(r.duration[31]), sum(r.duration[32]), sum(r.duration[33])]::bigint[] as duration
-- id: the one that has it
and r.id = %(id)s
-- below: older than this one
and r.id < %(below)s
-- above: newer than this one
and r.id > %(above)s
-- down_to: no older than this one
and r.id >= %(down_to)s
-- up_to: no newer than this one
and r.id <= %(up_to)s
-- client: of this client
and r.client_id = %(client)s
-- key: under this key
and r.key = %(key)s
-- job: of this job
and r.job_id = %(job)s
-- host: whose target is at this host, in any case of letters
and pgsched_internal.target_host(r.target) = pgsched_internal.canonical_host(%(host)s)
-- labels: with all these labels. That it has any is said apart, for the indexes that have such rows alone
and r.labels is not null and r.labels @> %(labels)s::jsonb
-- labelled: with any labels
and r.labels is not null
-- start: whose instant is this one or a later one
and coalesce(r.scheduled_for, r.fire_at) >= %(start)s
-- end: whose instant is before this one
and coalesce(r.scheduled_for, r.fire_at) < %(end)s
-- queue: in the partitions of this queue
and r.partition between (select q.first_partition from pgsched.queues q where q.name = %(queue)s)
                    and (select q.first_partition from pgsched.queues q where q.name = %(queue)s) + pgsched_internal.partitions_per_queue() - 1
-- live: waiting or in hand in one of these ways
and case when r.lease_expires_at is not null then 'running' when r.fire_at = 'infinity' then 'held' when r.attempt > 0 then 'retrying'
         else 'scheduled' end = any (%(live)s)
-- ended: that ended in one of these ways
and r.status = any (%(ended)s::pgsched.execution_status[])
-- failed: that failed, written out, so that also a plan for any parameters finds the indexes that have such rows alone
and r.status = 'failed'
-- target: whose target begins so
and starts_with(r.target, %(target)s)
-- reason: whose reason has this in it, in any case of letters
and strpos(lower(r.reason), lower(%(reason)s)) > 0
-- status_code: with this status code
and r.status_code = %(status_code)s
-- failed_since: that failed at this instant or later
and r.finished_at >= %(failed_since)s
-- failed_before: that failed before this instant
and r.finished_at < %(failed_before)s
-- open: dead letters that nobody has dealt with
and r.dealt_with_at is null
-- replayed: dead letters that were replayed
and r.replayed_as is not null
-- discarded: dead letters that were discarded
and r.dealt_with_at is not null and r.replayed_as is null
-- state: jobs in this state
and r.state = %(state)s::pgsched.job_state
-- action: bulk operations that do this
and r.action = %(action)s
-- subject: changes of what has this id
and r.subject = %(subject)s
-- name: changes of what has this name
and r.name = %(name)s
