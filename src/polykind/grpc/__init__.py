"""A gRPC client over HTTP/2: for etcd, and for a collector of traces."""
