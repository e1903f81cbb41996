-- What the installation has agreed on under a name.
select value from pgsched.facts where name = %(name)s
