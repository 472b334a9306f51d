#!/usr/bin/env python3
"""Runs a Criterion program and watches that it goes on: watch.py PROGRAM ARGUMENT...

A program hangs when for STILL_S seconds none of its processes is runnable or uses the processor, however slow the
machine is. Then gdb prints where each thread stands, and the program is killed.

A sanitized run stood still once, where is not known, and none of the thousands after it did. podsim's own part in it is
small: SimGrid lets one actor's thread run at a time, and no thread is left when a process ends, also after a deadlock.
Criterion forks a process for each test from one that has threads (nanomsg), allocates before exec, which
AddressSanitizer does not foresee, stops and continues it by signals and talks with it over sockets. So a hang in which
no thread stands in the program's own code is run again, once. Any other hang fails, and so does one that gdb cannot
look into."""
import os
import signal
import subprocess
import sys
import tempfile
import time

STILL_S = 60
RUNTIME = ("libc.", "libm.", "ld-linux", "libasan.", "libubsan.", "libstdc++.", "libgcc_s.", "linux-vdso")
OWN = "stands in the program's own code"

# Run by gdb: the stack of each thread, and OWN where the innermost frame that is not of the C runtime is the program's.
STACKS = f"""
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread", thread.ptid[1])
    frame, owner = gdb.newest_frame(), None
    while frame is not None:
        library = gdb.solib_name(frame.pc())
        name = os.path.basename(library) if library else "program"
        print("   ", frame.name(), "in", name)
        if owner is None and not name.startswith({RUNTIME!r}) and frame.name() != "_start":
            owner = name
        frame = frame.older()
    if owner == "program":
        print("   ", {OWN!r})
"""


def stat_fields(path):
    """Fields of a stat file of /proc that follow the name, the state first; none where the process has ended."""
    try:
        with open(path) as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def tree(root):
    """A process and its descendants."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        fields = stat_fields(f"/proc/{entry}/stat")
        if fields is not None:
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return found


def threads(pid):
    try:
        return os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return []


def progress(root):
    """What stays the same while nothing goes on: each thread's processor time; None where one can run."""
    times = {}
    for pid in tree(root):
        for thread in threads(pid):
            fields = stat_fields(f"/proc/{pid}/task/{thread}/stat")
            if fields is None:
                continue
            if fields[0] in "RD":
                return None
            times[thread] = (fields[11], fields[12])
    return times


def ended(process):
    """Waits until it ends, or hangs: whether it ended."""
    before, since = None, time.monotonic()
    while True:
        try:
            process.wait(1)
            return True
        except subprocess.TimeoutExpired:
            now = progress(process.pid)
        if now is None or now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > STILL_S:
            return False


def stacks(root):
    """Where all threads stand, in words; OWN is said of a process that cannot be looked into."""
    lines = []
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write("import os\n" + STACKS)
        script.flush()
        for pid in tree(root):
            try:
                result = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-x", script.name], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
                text = result.stdout
            except (OSError, subprocess.TimeoutExpired) as error:
                text = str(error)
            lines.append(f"process {pid}\n{text}")
            if "\nthread " not in text:
                lines.append(f"unknown; it counts as if it {OWN}")
    return "\n".join(lines)


def kill(root):
    for pid in tree(root):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(command):
    """Exit status, or None after a hang that is not the program's own."""
    process = subprocess.Popen(command)
    if ended(process):
        return process.returncode if process.returncode >= 0 else 128 - process.returncode
    where = stacks(process.pid)
    kill(process.pid)
    process.wait()
    print(f"{command[0]} hangs:\n{where}", flush=True)
    return 1 if OWN in where else None


def main(command):
    status = run(command)
    if status is None:
        print("no thread stands in the program's own code; once more", flush=True)
        status = run(command)
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
