"""storagemigration."""
