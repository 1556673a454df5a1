"""`python -m fmarl`: the same as the command `fmarl`."""

import sys

from fmarl.cli import main

if __name__ == "__main__":
    sys.exit(main())
