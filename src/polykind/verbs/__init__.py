"""The verbs of the API, one module each, and the stages that they share."""
