"""The CronTab example in an API group of the test's own, so that tests on one server do not interfere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

EXAMPLES = Path(__file__).parents[2] / "examples" / "crontab"


def definition(group: str) -> dict[str, Any]:
    """Return examples/crontab/crd.yaml in another group, without the short name and category, which would be
    ambiguous.
    """
    crd: dict[str, Any] = yaml.safe_load((EXAMPLES / "crd.yaml").read_text().replace("example.com", group))
    del crd["spec"]["names"]["shortNames"], crd["spec"]["names"]["categories"]
    return crd


def crontab(group: str, name: str = "my-crontab", version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/{version}",
        "kind": "CronTab",
        "metadata": {"name": name},
        "spec": {"cronSpec": "* * * * */5", "image": "my-awesome-cron-image", **spec},
    }
