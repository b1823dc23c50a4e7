"""The HTTPS client that conversion and admission webhooks share."""
