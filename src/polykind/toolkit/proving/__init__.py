"""Property-based tests for conversions, with objects generated from a CRD's schemas."""
