-- Replaying what was skipped since one that it waited for had no success.

-- What an execution had waited for is kept with it where it was skipped for want of a success (skip_dependents).
create or replace function pgsched_internal.was_dependent(letter pgsched.history) returns boolean language sql immutable parallel safe as $$
  select letter.status = 'skipped' and coalesce(jsonb_typeof(letter.result -> 'after') = 'object', false)
$$;
comment on function pgsched_internal.was_dependent(pgsched.history)
  is 'Whether an execution was skipped since one that it waited for had no success.';

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
comment on function pgsched_internal.last_replay(uuid) is 'The execution by which another was replayed last; itself where it was not.';

-- The end of a replay that its client keeps no history of was a success.
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
  is 'What an execution that was skipped has to wait for if it is replayed: what is not over yet; PS011 where one has had no success.';
