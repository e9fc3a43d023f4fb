"""`subcog at-rest`: the process that does the background jobs. `jobs.job_list` has the list."""

from subcog_hooks.cli.jobs import background_jobs
from subcog_hooks.cli.jobs.job_list import JOBS
from subcog_hooks.cli.support import context
from subcog_hooks.core import log
from subcog_hooks.core.errors import SubcogError


def run_background_jobs() -> None:
    """Run background work. Sessions that begin and commands that end start it."""
    home = context.home()
    try:
        background_jobs.run_due_jobs(home, JOBS)
    except SubcogError as error:
        log.write_line(home, f"the work at rest failed: {error.message}")  # nobody sees the output of a detached process
        raise
