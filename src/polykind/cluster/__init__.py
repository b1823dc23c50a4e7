"""A client for other clusters and webhooks, and the kubeconfigs that name them."""
