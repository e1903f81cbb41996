-- Targets whose effect is part of the transaction that settles them: sql: and notify:.

-- Runs with its owner's rights, because the session has the role of a client, which may not settle by itself. Whoever
-- knows the id and the token of the lease may settle. A client sees the ids and tokens of its own rows only, and cannot
-- guess others.
create or replace function pgsched_internal.settle_called(partition smallint, id uuid, token bigint, result jsonb) returns void
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  settled pgsched.executions;
begin
  perform pgsched_internal.check_result(settle_called.result, 'store it elsewhere and return a reference to it');
  -- Uses the partition's own table; otherwise, each call would plan for all partitions, or open all of them.
  execute format('delete from pgsched_internal.executions_%s e where e.id = $1 and e.lease_token = $2 returning e.*', partition)
     into settled using settle_called.id, token;
  if settled.id is null then
    perform pgsched_internal.refuse('PS013', format('execution %s was leased again or has ended', settle_called.id), 'drop the result');
  end if;
  if not pgsched_internal.acts_for(settled.client_id)
     and exists (select from pgsched.clients c where c.client_id = settled.client_id and c.database_role is not null) then
    perform pgsched_internal.refuse('PS012', format('%I is not allowed to settle for client %s', pgsched_internal.acting_role(), settled.client_id),
      'use SET ROLE to switch to a role that belongs to that client');
  end if;
  perform pgsched_internal.end_execution(settled, 'succeeded', result => settle_called.result, lets_next => true,
    began_at => pgsched.now(), seconds => extract(epoch from clock_timestamp() - now())::float8);
end $$;
comment on function pgsched_internal.settle_called(smallint, uuid, bigint, jsonb)
  is 'Records the success of a leased execution in the caller''s transaction. Its id and token must match the lease.';

-- Runs with its caller's rights, so that the target's function can do what the session's role can do, and no more. The
-- function is called before the row is locked, so that the lease can be renewed however long the function takes.
create or replace function pgsched_internal.call_target(
  schema text, function text, payload jsonb, client text, attempt integer, scheduled_for timestamptz,
  partition smallint, id uuid, token bigint
) returns void language plpgsql volatile as $$
declare
  result jsonb;
begin
  perform pg_catalog.set_config('pgsched.execution_id', id::text, true), pg_catalog.set_config('pgsched.client', client, true),
          pg_catalog.set_config('pgsched.attempt', attempt::text, true),
          pg_catalog.set_config('pgsched.scheduled_for', scheduled_for::text, true);
  -- A scalar subquery, so that a second row raises an error instead of being dropped.
  execute pg_catalog.format(
    'select (select case when pg_catalog.pg_typeof(called) operator(pg_catalog.<>) ''pg_catalog.void''::pg_catalog.regtype
                         then pg_catalog.to_jsonb(called) end from (select %I.%I($1) as called offset 0) calling)',
    schema, function) into result using payload;
  perform pgsched_internal.settle_called(partition, id, token, result);
end $$;
comment on function pgsched_internal.call_target(text, text, jsonb, text, integer, timestamptz, smallint, uuid, bigint)
  is 'Calls the function of an sql: target with the payload and records the execution''s success, with the result of the
function, in the same transaction. The function can read the settings pgsched.execution_id, pgsched.attempt,
pgsched.scheduled_for and pgsched.client.';
