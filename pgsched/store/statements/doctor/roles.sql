-- doctor: roles of pgsched with an attribute that they should not have, and logins of registered workers with
-- superuser, createrole or bypassrls. Locks nothing.
select r.rolname::text as name, r.rolname = any (%(ours)s) as ours,
       pg_catalog.string_agg(a.what, ' ' order by a.what) as what
  from pg_catalog.pg_roles r
 cross join lateral (values ('superuser', r.rolsuper), ('createrole', r.rolcreaterole), ('bypassrls', r.rolbypassrls),
                            ('login', r.rolcanlogin)) a (what, has)
 where a.has
   and (r.rolname = any (%(ours)s)
        or a.what <> 'login' and r.oid in (select w.login from pgsched.workers w where w.lost_since is null))
 group by r.rolname order by 1 limit %(most)s
