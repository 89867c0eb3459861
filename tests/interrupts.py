"""Interrupting a process of its own, in tests."""

import signal
import subprocess
import sys
import time

# Shells start what runs in the background deaf to Ctrl-C, and children inherit that.
LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def interrupt(code: str, *arguments: object) -> tuple[str, int]:
    """Send Ctrl-C to Python code that is ready; what it says after that, and its exit code."""
    command = [sys.executable, "-c", LISTEN + code, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(1)  # into the compiled core
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()  # or leaving the block would wait for it
    return rest, process.returncode
