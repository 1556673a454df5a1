"""A second signal ends the program at once, even in code that hears none."""

import signal
import subprocess
import sys
import time

PROGRAM = """
import hashlib, signal
from fmarl.cli.second_signal import ending_at_second_signal

signal.signal(signal.SIGTERM, lambda *_: None)
with ending_at_second_signal():
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # minutes of native code
"""


def test_one_signal_is_a_request_and_two_are_the_end():
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM
