"""What pgsched is installed beside: a plain application, and the requirements of others, pinned at the end of 2024."""
