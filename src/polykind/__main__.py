"""The entry point of `python -m polykind`."""

import sys

from polykind.cli import main

sys.exit(main())
