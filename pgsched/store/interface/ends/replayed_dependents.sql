-- Replays of executions that were skipped because an execution that they waited for did not succeed.

-- The row of a skipped execution keeps the list of what it waited for (see skip_dependents).
create or replace function pgsched_internal.was_dependent(letter pgsched.history) returns boolean language sql immutable parallel safe as $$
  select letter.status = 'skipped' and coalesce(jsonb_typeof(letter.result -> 'after') = 'object', false)
$$;
comment on function pgsched_internal.was_dependent(pgsched.history)
  is 'True if an execution was skipped because another one that it waited for did not succeed.';

create or replace function pgsched_internal.last_replay(id uuid) returns uuid language plpgsql volatile as $$
declare
  last uuid := last_replay.id;
  next uuid;
begin
  loop
    next := coalesce((pgsched_internal.in_history(last)).replayed_as,
                     (select k.replayed_as from pgsched_internal.kept_dead_letters k where k.id = last));
    exit when next is null;
    last := next;
  end loop;
  return last;
end $$;
comment on function pgsched_internal.last_replay(uuid)
  is 'The last replay in an execution''s chain of replays; the execution itself if it was not replayed.';

-- A replay that has ended but is not in history has succeeded: its client keeps no history of successes.
create or replace function pgsched_internal.still_to_wait_for(letter pgsched.history) returns jsonb language plpgsql volatile as $$
declare
  before record;
  last uuid;
  status pgsched.execution_status;
  waits jsonb := '{}';
begin
  for before in
    select d.id::uuid, d.outcome from jsonb_each_text(case when pgsched_internal.was_dependent(letter) then letter.result -> 'after' else '{}' end) d(id, outcome)
  loop
    last := pgsched_internal.last_replay(before.id);
    if (pgsched_internal.live_execution(pgsched_internal.partition_with(last), last)).id is not null then
      waits := waits || jsonb_build_object(last, before.outcome);
      continue;
    end if;
    status := (pgsched_internal.in_history(last)).status;
    if before.outcome = 'success' and coalesce(status <> 'succeeded', last = before.id) then
      perform pgsched_internal.refuse('PS011', format('execution %s waited for %s, which has not succeeded', letter.id, last),
        'replay that one first');
    end if;
  end loop;
  return waits;
end $$;
comment on function pgsched_internal.still_to_wait_for(pgsched.history)
  is 'The executions that the replay of a skipped execution must wait for: those that the skipped one waited for and
that have not ended. Raises PS011 if an execution that it waited for has ended without success.';
