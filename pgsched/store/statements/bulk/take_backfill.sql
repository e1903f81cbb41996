-- bulk: locks a backfill until the transaction ends; returns no row if another worker has locked it. Does not lock the
-- job: its cancellation waits for the backfill's lock, and then finds the planned rows. `behind` is true if rows of the
-- job's partition have been due for more than a second. Indexes: the primary keys; executions_fire_at.
select b.id, j.id as job_id, (b.filter ->> 'from')::timestamptz as starts_at, (b.filter ->> 'to')::timestamptz as ends_at, b.reached_at, b.rate,
       b.total, pgsched.now() as now, greatest(b.paced_until, pgsched.now()) as paced_until, j.state::text as job_state,
       exists (select from pgsched.executions e
                where e.partition = pgsched_internal.partition_of(j) and e.lease_token is null
                  and e.fire_at between pgsched.now() - interval '1 hour' and pgsched.now() - interval '1 second') as behind
  from pgsched.bulk_operations b join pgsched.jobs j on j.id = b.job_id
 where b.id = %(operation)s and b.action = 'backfill' and b.state = 'active' for update of b skip locked
