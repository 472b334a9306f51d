#!/usr/bin/env python3
"""Runs the command-line cases: run.py PODSIM SOURCE [NAME...].

A case is a folder with
  cmd            a shell line; $podsim and $source stand for the program and the project's folder, $python for this Python
  status         the exit code that is wanted (0 without the file)
  stdout, stderr the whole text that is wanted
  stdout.has, stderr.has   lines that must each occur somewhere in the text
  files          names of files that must exist afterwards (with a leading !: must not)
Each runs in an empty folder of its own. The last line is 'N passed, N failed'."""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def read(path):
    return path.read_text() if path.exists() else None


def text_faults(case, stream, got):
    want = read(case / stream)
    if want is not None and want != got:
        yield f"{stream} is\n{got}--- wanted\n{want}---"
    for line in (read(case / f"{stream}.has") or "").splitlines():
        if line not in got:
            yield f"{stream} lacks `{line}`; it is\n{got}---"


def file_faults(case, folder):
    for name in (read(case / "files") or "").split():
        there = (pathlib.Path(folder) / name.lstrip("!")).exists()
        if there == name.startswith("!"):
            yield f"{name.lstrip('!')} {'is there' if there else 'is missing'}"


def faults(case, podsim, source):
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, podsim=podsim, source=source, python=sys.executable, LC_ALL="C")
        r = subprocess.run(["sh", "-c", read(case / "cmd")], cwd=folder, env=env, capture_output=True, text=True,
                           errors="replace", timeout=300)
        want = int(read(case / "status") or 0)
        if r.returncode != want:
            yield f"exit {r.returncode}, wanted {want}; stderr:\n{r.stderr}"
        yield from text_faults(case, "stdout", r.stdout)
        yield from text_faults(case, "stderr", r.stderr)
        yield from file_faults(case, folder)


def main():
    podsim, source, names = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    cases = sorted(p.parent for p in HERE.glob("*/cmd") if not names or p.parent.name in names)
    failed = 0
    for case in cases:
        found = list(faults(case, podsim, source))
        failed += bool(found)
        print(f"{'FAIL' if found else 'ok  '} {case.name}", *found, sep="\n  " if found else "")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed > 0 or not cases


if __name__ == "__main__":
    sys.exit(main())
