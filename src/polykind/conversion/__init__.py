"""Objects from one version of their kind to another: by changing nothing, by a webhook, by functions of our own."""
