"""The official Python client, imported without types because only its newest releases have them."""

from __future__ import annotations

import importlib
from typing import Any

client: Any = importlib.import_module("kubernetes.client")
config: Any = importlib.import_module("kubernetes.config")
dynamic: Any = importlib.import_module("kubernetes.dynamic")
watch: Any = importlib.import_module("kubernetes.watch")
