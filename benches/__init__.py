"""What Polykind costs: every figure is a ratio to a ceiling measured in the same run."""
