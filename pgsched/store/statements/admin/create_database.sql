-- up: the database of a server of our own.
create database pgsched
