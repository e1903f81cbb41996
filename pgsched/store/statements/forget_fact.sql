-- Takes back what was noted under a name.
delete from pgsched.facts where name = %(name)s
