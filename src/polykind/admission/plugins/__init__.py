"""kube-apiserver's built-in admission plugins."""
