-- recovery: notes that workers are on this server, and answers why the installation is held, or null, and how often the note was renewed.
select c.why, c.renewals from pgsched_internal.check_in(%(known)s) c
