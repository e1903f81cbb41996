"""What is counted for Prometheus: by worker processes of what they do, by the API of itself and of the database."""
