"""Simulated controllers, scheduler and kubelet, so that workloads in a test behave as in a cluster."""
