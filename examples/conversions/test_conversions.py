from conversions import backups

from polykind.convert.proof import proofs

test_backups = proofs("crd.yaml", backups)
