"""Worker methods, shared by both clients."""

from pgsched.client.requests import Call, path
from pgsched.client.sync_async_methods import method
from pgsched.store.admin.worker_listing import WorkerRow


class WorkerMethods:
    """Worker methods, shared by both clients."""

    @method
    def list_workers(self) -> Call[list[WorkerRow]]:
        """All workers. Each worker's ``in_hand`` count includes only the oldest due executions."""
        return Call("GET", path("workers"), list[WorkerRow], "items")

    @method
    def get_worker(self, worker: int) -> Call[WorkerRow]:
        """One worker."""
        return Call("GET", path("workers", str(worker)), WorkerRow)

    @method
    def drain_worker(self, worker: int, *, note: str | None = None) -> Call[bool]:
        """Drains a worker: it finishes its executions, and starts no more. Returns False if it was already draining."""
        return Call("POST", path("workers", str(worker), "pause"), bool, "changed", body={"note": note})

    @method
    def resume_worker(self, worker: int, *, note: str | None = None) -> Call[bool]:
        """Resumes a drained worker. Returns False if it was not draining."""
        return Call("POST", path("workers", str(worker), "resume"), bool, "changed", body={"note": note})
