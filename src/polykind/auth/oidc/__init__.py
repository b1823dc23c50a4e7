"""Authentication with JSON Web Tokens of OpenID Connect providers."""
