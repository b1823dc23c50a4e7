"""The verbs of the Kubernetes API, such as get and list, one module each, and the stages of a request they share."""
