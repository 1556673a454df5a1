"""The command `fmarl`, and `python -m fmarl`: quiet when stopped, even while still loading."""

import sys

from fmarl.cli.second_signal import ending_at_second_signal
from fmarl.cli.standard_streams import forgiving_streams, output_problem


def run() -> int:
    """Load the commands and run one."""
    with forgiving_streams(), ending_at_second_signal():
        try:
            from fmarl.cli import main

            code = main()
        except KeyboardInterrupt:
            sys.stderr.write("fmarl: stopped\n")
            return 130
        if problem := output_problem():
            sys.stderr.write(f"fmarl: a part of the output is lost: {problem}.\n")
            return code or 1
        return code


if __name__ == "__main__":
    sys.exit(run())
