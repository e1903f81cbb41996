-- Whether any execution waits for another; nothing is looked for where none does.
select exists (select from pgsched.dependencies)
