"""tune.py PLANS FILE TARGET=SCHEDULE...: a file of plans for the only kernel in PLANS, which 'dlc
tune' wrote."""

import re
import sys

plans, target_file, *choices = sys.argv[1:]
with open(plans) as file:
    (digest, ) = {
        line[1]
        for line in re.finditer(r"^(?:# )?(?:cpu|cuda) ([0-9a-f]{16}) ", file.read(), re.MULTILINE)
    }
with open(target_file, "w") as file:
    file.write("dlc-plans 1\n")
    for choice in choices:
        target, schedule = choice.split("=")
        file.write(f"{target} {digest} {schedule}\n")
