"""The certificate authority, certificates, private files and kubeconfigs."""
