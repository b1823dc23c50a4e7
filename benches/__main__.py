"""Run the benchmarks one after the other: python -m benches [NAME ...]"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHES = (
    "server_ratios",
    "store_commit",
    "schema_machine",
    "apply_cost",
    "cel_rules",
    "crd_scale",
    "etcd_ratios",
    "control_plane",
    "http2_cost",
)


def main() -> int:
    chosen = sys.argv[1:] or BENCHES
    for name in chosen:
        if name not in BENCHES:
            print(f"no such bench: {name}; there are {', '.join(BENCHES)}", file=sys.stderr)
            return 2
        status = subprocess.call([sys.executable, "-m", f"benches.{name}"], cwd=Path(__file__).parents[1])
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
