-- Lets this login act as the API, if it may grant that role and is not a member already.
do $$
begin
  if to_regrole('pgsched_api') is not null and not pg_has_role(session_user, 'pgsched_api', 'MEMBER') then
    grant pgsched_api to session_user;
  end if;
end $$
