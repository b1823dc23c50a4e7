"""Role-based access control: the authorizer, default roles, escalation checks."""
