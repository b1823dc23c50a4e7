"""The kinds of configuration files that kube-apiserver reads: group apiserver.config.k8s.io."""
