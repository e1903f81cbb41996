"""pgsched: `at` and `cron` for a whole company, on the PostgreSQL it already runs."""

__version__ = "0.1.0"
