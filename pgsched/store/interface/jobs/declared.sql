-- Jobs that are declared, in an application or a file: what is changed elsewhere would be changed back the next time that is applied.

create or replace function pgsched_internal.refuse_declared(job pgsched.jobs, hint text) returns void
  language plpgsql volatile as $$
begin
  if job.declared_by is not null then
    perform pgsched_internal.refuse('PS011', format('job %s is declared by %L', job.id, job.declared_by), refuse_declared.hint);
  end if;
end $$;
comment on function pgsched_internal.refuse_declared(pgsched.jobs, text) is 'Raises PS011 for a job that is declared.';

create or replace function pgsched.mark_declared(job_id uuid, declared_by text, actor text default null) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  job constant pgsched.jobs := pgsched_internal.lock_job(mark_declared.job_id);
begin
  perform pgsched_internal.check_said(null, mark_declared.actor);
  if length(mark_declared.declared_by) not between 1 and 200 then
    perform pgsched_internal.refuse('PS000', 'declared_by must be text of 1 to 200 characters', 'write declared_by => ''shop.handlers:app'', or null');
  elsif job.declared_by is not distinct from mark_declared.declared_by then
    return false;
  end if;
  update pgsched.jobs j set declared_by = mark_declared.declared_by where j.id = mark_declared.job_id;
  perform pgsched_internal.write_log('declare', mark_declared.job_id, mark_declared.actor, null, 'job');
  return true;
end $$;
comment on function pgsched.mark_declared(uuid, text, text)
  is 'Says by what a job is declared, or with null that it no longer is; false if it was so before. PS010 for an unknown job.';
