"""The watchdog of a hook: a process that is ended before it has answered leaves a trace."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import _thread, os, sys
from subcog_hooks.hook import main
output = main.Output(main.LAST_MS * 100)
output.end_at(main.LAST_MS * 100, 30.0)
output.cut_offs, output.trace = sys.argv[1], "UserPromptSubmit one-session"
_thread.start_new_thread(main.end_in_time, (output, 0.0))
try:
    while True:
        {work}
except TimeoutError:
    output.finish()
    os._exit(3)
"""


@pytest.mark.parametrize("work", ["pass", 'output.prepare(b"late")'], ids=["at work", "about to answer"])
def test_processor_time_ends_a_process_with_a_trace(tmp_path: Path, work: str) -> None:
    trace = tmp_path / "cut-offs"
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(work=work), str(trace)], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert trace.read_text().endswith(" UserPromptSubmit one-session\n")
