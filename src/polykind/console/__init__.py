"""The console: a web application for browsers, at /console/. Its sources are in the folder `console`."""
