"""The strategies of the built-in API group storage."""
