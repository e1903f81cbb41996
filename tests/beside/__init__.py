"""What pgsched is installed beside: a plain application, and requirements of others as pinned at the end of 2024."""
