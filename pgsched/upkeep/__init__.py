"""The services that keep the database in order: planning, reaping, days of history, and so on. There is no leader:
every worker runs all services. A turn skips rows that another worker holds, and is harmless if it runs twice."""
