"""Authentication, impersonation and authorization of requests."""
