-- Lets this login act as the API, if the login may grant the API's role and is not yet a member of it.
do $$
begin
  if to_regrole('pgsched_api') is not null and not pg_has_role(session_user, 'pgsched_api', 'MEMBER') then
    grant pgsched_api to session_user;
  end if;
end $$
