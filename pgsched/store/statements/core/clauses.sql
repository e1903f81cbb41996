-- Optional clauses of statements, inserted where a statement says {clauses}. Each follows a line with its name and
-- purpose. They are not parameters, because plans are cached: a condition that a parameter switches off would still be
-- evaluated for each row read, an unwanted lock would still be waited for, and an insert that expects a conflict costs
-- a fifth more. The rows are called "due", or "r" in listings. Column lists that several statements share are here,
-- too. The list "claimed" leaves out a payload that is large, or compressed and therefore of unknown size
-- (store/live/recorded_starts.py). Only the payload's header is read to find out.

-- left: excludes rows that need a capability left to other workers
and pgsched_internal.capability_of(due.target) <> all (%(left)s)
-- missed: excludes one-shots that need a capability that no worker has
and (pgsched_internal.capability_of(due.target) <> all (%(missed)s) or due.plan is not null)
-- refused: excludes rows that the database refuses to change
and due.id <> all (%(refused)s)
-- only: rows of one client
and due.client_id = %(only)s
-- plain: excludes rows that recur or have an ordering key
and due.plan is null and due.ordering_key is null
-- held: excludes one-shots of clients that are held
and (due.client_id <> all (%(held)s) or due.plan is not null)
-- apart: excludes clients that are claimed separately
and due.client_id <> all (%(apart)s)
-- ordinary: excludes rows with a priority below 0
and (due.options ->> 'priority')::smallint < 0 is not true
-- planned: rows that recur and are planned
and due.plan > 0
-- locked: locks the gates that are read, and skips those that another transaction has locked
for update of g skip locked
-- free: locks the rows, and skips those that another transaction has locked
for update skip locked
-- unless_it_stands: skips rows that another transaction has inserted already
on conflict do nothing
-- claimed: the columns that a claim returns for a row
e.partition, e.id, e.lease_token, e.attempt, e.fire_at, coalesce(e.scheduled_for, e.fire_at) as scheduled_for, e.client_id, e.target,
          case when e.payload is null or (pg_column_size(e.payload) <= 8000 and pg_column_compression(e.payload) is null)
               then e.payload else '{"pgsched": "kept back"}'::jsonb end,
          e.options, e.job_id, e.plan, e.key, e.ordering_key, e.start_at, e.uncounted, e.losses
-- rolled_up: sums of the rollups' counts
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
-- id: the row with this id
and r.id = %(id)s
-- below: older than this row
and r.id < %(below)s
-- above: newer than this row
and r.id > %(above)s
-- down_to: no older than this row
and r.id >= %(down_to)s
-- up_to: no newer than this row
and r.id <= %(up_to)s
-- client: of this client
and r.client_id = %(client)s
-- key: with this key
and r.key = %(key)s
-- job: of this job
and r.job_id = %(job)s
-- host: with a target at this host, ignoring case
and pgsched_internal.target_host(r.target) = pgsched_internal.canonical_host(%(host)s)
-- labels: with all these labels. "is not null" is stated separately, for the indexes that cover only labelled rows
and r.labels is not null and r.labels @> %(labels)s::jsonb
-- labelled: with any labels
and r.labels is not null
-- start: scheduled at this instant or later
and coalesce(r.scheduled_for, r.fire_at) >= %(start)s
-- end: scheduled before this instant
and coalesce(r.scheduled_for, r.fire_at) < %(end)s
-- queue: in the partitions of this queue
and r.partition between (select q.first_partition from pgsched.queues q where q.name = %(queue)s)
                    and (select q.first_partition from pgsched.queues q where q.name = %(queue)s) + pgsched_internal.partitions_per_queue() - 1
-- live: waiting or running, with one of these statuses
and case when r.lease_expires_at is not null then 'running' when r.fire_at = 'infinity' then 'held' when r.attempt > 0 then 'retrying'
         else 'scheduled' end = any (%(live)s)
-- ended: ended with one of these statuses
and r.status = any (%(ended)s::pgsched.execution_status[])
-- failed: rows that failed. Not a parameter, so that a generic plan also finds the indexes that cover only failed rows
and r.status = 'failed'
-- target: rows whose target starts with this text
and starts_with(r.target, %(target)s)
-- reason: rows whose reason contains this text, ignoring case
and strpos(lower(r.reason), lower(%(reason)s)) > 0
-- status_code: with this status code
and r.status_code = %(status_code)s
-- failed_since: rows that failed at or after this instant
and r.finished_at >= %(failed_since)s
-- failed_before: rows that failed before this instant
and r.finished_at < %(failed_before)s
-- open: dead letters that are still open
and r.dealt_with_at is null
-- replayed: dead letters that were replayed
and r.replayed_as is not null
-- discarded: dead letters that were discarded
and r.dealt_with_at is not null and r.replayed_as is null
-- state: jobs in this state
and r.state = %(state)s::pgsched.job_state
-- action: bulk operations with this action
and r.action = %(action)s
-- subject: changes of the object with this id
and r.subject = %(subject)s
-- name: changes of the object with this name
and r.name = %(name)s
