"""The command `dlc` of an installed wheel."""
import os
import sys

from .compiler import find_tool
from .errors import Error


def main():
    try:
        tool = find_tool()
        os.execv(tool, [tool, *sys.argv[1:]])
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return int(error.code)
