"""The toolkit for CRD authors: declare, host, test and rehearse conversions."""
