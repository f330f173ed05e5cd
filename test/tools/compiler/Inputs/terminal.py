"""terminal.py COMMAND...: runs the command with a terminal as its standard error, and prints what that shows, a line for each line that
takes the place of the one before it. Its standard output is left alone."""
import os
import pty
import subprocess
import sys

terminal, end = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=end)
os.close(end)
shown = b""
try:  # a terminal hands on what was written bit by bit, and ends with an error once all have closed it
    while piece := os.read(terminal, 4096):
        shown += piece
except OSError:
    pass
print(shown.decode().replace("\r\x1b[K", "\n"))
sys.exit(process.wait())
