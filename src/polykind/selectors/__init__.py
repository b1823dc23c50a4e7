"""Label selectors and field selectors, as requests and API objects write them."""
