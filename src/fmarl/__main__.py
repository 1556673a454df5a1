"""The command `fmarl`, and `python -m fmarl`: quiet when stopped, even while still loading."""

import sys


def run() -> int:
    """Load the commands and run one."""
    try:
        from fmarl.cli import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("fmarl: stopped\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
