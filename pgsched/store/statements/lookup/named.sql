-- The job, the newest execution and the newest dead letter that each client has under a key. A job that is not
-- cancelled, and an open dead letter, take precedence. If no clients are given, all clients with keys are visited, each
-- by one step along the indexes. Only roles that may see everything should leave the clients out, because each step
-- also reads the rows that policies hide, one by one. Locks nothing. Indexes: jobs_key, executions_key, history_key,
-- kept_dead_letters_key.
with recursive anybody (client_id) as (
  select least(
    (select j.client_id::text from pgsched.jobs j where j.key is not null order by j.client_id limit 1),
    (select e.client_id::text from pgsched.executions e where e.key is not null order by e.client_id limit 1),
    (select h.client_id from pgsched.history h where h.key is not null order by h.client_id limit 1),
    (select k.client_id from pgsched_internal.kept_dead_letters k where k.key is not null order by k.client_id limit 1))
   where %(clients)s::text[] is null
  union all
  select least(
    (select j.client_id::text from pgsched.jobs j where j.key is not null and j.client_id > w.client_id order by j.client_id limit 1),
    (select e.client_id::text from pgsched.executions e where e.key is not null and e.client_id > w.client_id order by e.client_id limit 1),
    (select h.client_id from pgsched.history h where h.key is not null and h.client_id > w.client_id order by h.client_id limit 1),
    (select k.client_id from pgsched_internal.kept_dead_letters k where k.key is not null and k.client_id > w.client_id
      order by k.client_id limit 1))
    from anybody w where w.client_id is not null
), whose (client_id) as (
  select a.client_id from anybody a
  union all
  select c from unnest(%(clients)s::text[]) c
)
select w.client_id as client, job.id as job, execution.id as execution, letter.id as dead_letter
  from whose w
  left join lateral (
    select j.id from pgsched.jobs j where j.client_id = w.client_id and j.key = %(key)s
     order by j.state = 'cancelled', j.id desc limit 1) job on true
  left join lateral (
    select s.id from (
      select e.id from pgsched.executions e where e.client_id = w.client_id and e.key = %(key)s
      union all select h.id from pgsched.history h where h.client_id = w.client_id and h.key = %(key)s
      union all select k.id from pgsched_internal.kept_dead_letters k where k.client_id = w.client_id and k.key = %(key)s) s
     order by s.id desc limit 1) execution on true
  left join lateral (
    select s.id from (
      select h.id, h.dealt_with_at from pgsched.history h
       where h.client_id = w.client_id and h.key = %(key)s and h.status = 'failed'
      union all
      select k.id, k.dealt_with_at from pgsched_internal.kept_dead_letters k where k.client_id = w.client_id and k.key = %(key)s) s
     order by s.dealt_with_at is not null, s.id desc limit 1) letter on true
 where num_nonnulls(job.id, execution.id) > 0
 order by w.client_id
 limit 11
