"""terminal.py COMMAND...: runs the command with a terminal as its standard error, and prints what
that shows, a line for each line that takes the place of the one before it. Its standard output is
left alone."""
import os
import pty
import subprocess
import sys


def run(command):
    """The exit status, and what the terminal was sent."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = b""
    # A terminal hands on what was written bit by bit, and ends with an error once all have closed
    # it
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:
        pass
    return process.wait(), shown


if __name__ == "__main__":
    status, shown = run(sys.argv[1:])
    print(shown.decode().replace("\r\x1b[K", "\n"))
    sys.exit(status)
