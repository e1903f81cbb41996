-- migrate: restores the settings that the transaction had before ours (store/admin/upgrade_steps.py).
do $$ begin perform set_config(s.key, s.value, true)
  from jsonb_each_text(current_setting('pgsched.before')::jsonb) as s where s.value is not null; end $$;
