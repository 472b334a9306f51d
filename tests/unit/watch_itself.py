#!/usr/bin/env python3
"""Checks watch.py: programs end with their own status, however long they compute; one that stands still in its own code fails."""
import contextlib
import io
import sys
import time

import watch

COMPUTES = "import time\nend = time.process_time() + 3\nwhile time.process_time() < end: pass\nraise SystemExit(4)"


def main():
    watch.STILL_S = 1
    assert watch.main(["sh", "-c", "exit 3"]) == 3
    assert watch.main(["sh", "-c", "kill -9 $$"]) == 128 + 9
    assert watch.main([sys.executable, "-c", COMPUTES]) == 4
    start, printed = time.monotonic(), io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = watch.main(["sh", "-c", "sleep 1000 & wait"])
    assert status == 1 and time.monotonic() - start < 500
    assert printed.getvalue().startswith("sh hangs:\nprocess ") and watch.OWN in printed.getvalue(), printed.getvalue()


if __name__ == "__main__":
    main()
