"""The built-in API group discovery.k8s.io: EndpointSlices."""
