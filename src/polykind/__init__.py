"""Polykind: a Kubernetes API server for custom resources that needs no cluster."""

__version__ = "0.1.0"
