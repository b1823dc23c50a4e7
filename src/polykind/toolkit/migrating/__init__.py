"""Storage-version migration of custom resources on any Kubernetes cluster, through a kubeconfig."""
