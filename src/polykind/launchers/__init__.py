"""Programs that stand in for kube-apiserver and etcd in test tools such as controller-runtime's envtest."""
