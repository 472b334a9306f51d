#!/usr/bin/env python3
"""Times are podsim's own: with every estimate in a scheduled program changed, they stay.

usage: estimates_ignored.py PODSIM CONFIG PROGRAM"""
import json
import re
import subprocess
import sys

podsim, config, program = sys.argv[1:]
text = open(program).read()


def summary(text):
    with open("estimates.hlo", "w") as out:
        out.write(text)
    subprocess.run([podsim, config, "estimates.hlo", "--numbers", "off", "--json", "estimates.json"], check=True, stdout=subprocess.DEVNULL)
    return json.load(open("estimates.json"))


plain = summary(text)
assert plain["time_ps"] > 0
for estimate in ("1", "98765432"):
    changed, n = re.subn(r'"estimated_cycles":"\d+"', f'"estimated_cycles":"{estimate}"', text)
    assert n > 0, "no estimates in the program"
    assert summary(changed) == plain, f"estimates of {estimate} cycles change the run"
print("the same")
