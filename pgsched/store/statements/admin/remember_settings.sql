-- migrate: remembers the settings that ours replace, for restore_settings. Looks nothing up by the path that it finds.
do $$ begin perform pg_catalog.set_config('pgsched.before', pg_catalog.jsonb_object_agg(
  s.name, pg_catalog.current_setting(s.name))::pg_catalog.text, true)
  from pg_catalog.unnest(array[{names}]::pg_catalog.text[]) as s(name); end $$;
