-- up: creates the database on a server that `pgsched up` runs itself.
create database pgsched
