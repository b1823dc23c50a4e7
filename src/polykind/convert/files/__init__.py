"""Conversion of manifests in files, without a server."""

from polykind.toolkit.files.offline_converter import ConvertedDocument, OfflineConverter

__all__ = ["ConvertedDocument", "OfflineConverter"]
