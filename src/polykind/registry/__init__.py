"""What is served: each resource with its versions, its rules, and how its objects are read and written."""
