-- One notification a statement and queue, and only for rows due before an idle worker would look by itself. Off with
-- set pgsched.notify = off, for a session or a role: the workers' poll then finds the rows within a second.

create or replace function pgsched.notify_wake(partition smallint, fire_at timestamptz) returns void
  language sql volatile as $$
  select pg_notify('pgsched_wake', partition || '@' || (extract(epoch from fire_at) * 1000000)::bigint)
   where fire_at < pgsched.now() + interval '2 seconds' and pgsched.setting('notify', 'on') <> 'off'
$$;
comment on function pgsched.notify_wake(smallint, timestamptz) is 'Tells the workers that a near-term row stands in a partition.';

create or replace function pgsched.executions_inserted() returns trigger language plpgsql volatile as $$
begin
  perform pg_notify('pgsched_wake', string_agg(near.partition || '@' || (extract(epoch from near.fire_at) * 1000000)::bigint, ','))
     from (select i.partition, min(i.fire_at) as fire_at from inserted i
            where i.fire_at < pgsched.now() + interval '2 seconds' group by i.partition) near
    group by near.partition >> 4;  -- by queue: a message of more than 8000 bytes would refuse the insert
  return null;
end $$;
comment on function pgsched.executions_inserted() is 'Wakes the workers for the near-term rows of one insert statement.';
create or replace trigger executions_inserted after insert on pgsched.executions
  referencing new table as inserted for each statement
  when (current_setting('pgsched.notify', true) is distinct from 'off') execute function pgsched.executions_inserted();

create or replace function pgsched.jobs_changed() returns trigger language plpgsql volatile as $$
begin
  perform pg_notify('pgsched_wake', 'plan');
  return null;
end $$;
comment on function pgsched.jobs_changed() is 'Wakes a planner for new and edited jobs.';
create or replace function pgsched.clients_changed() returns trigger language plpgsql volatile as $$
begin
  perform pg_notify('pgsched_wake', 'clients');
  return null;
end $$;
comment on function pgsched.clients_changed() is 'Has the workers read the clients'' settings again.';
create or replace trigger clients_changed after insert or update or delete on pgsched.clients
  for each statement execute function pgsched.clients_changed();

create or replace trigger jobs_inserted after insert on pgsched.jobs for each statement execute function pgsched.jobs_changed();
create or replace trigger jobs_edited after update of revision on pgsched.jobs for each statement execute function pgsched.jobs_changed();
