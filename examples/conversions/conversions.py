"""Conversions between the versions of Backup."""

from polykind.convert import Conversions, move, only

backups = Conversions("Backup.example.com")


@backups.step("v1alpha1", "v1beta1", loses={"spec.verbose": "logging is set by the operator's own flags now"})
def split_target(obj):
    spec = obj.get("spec", {})
    spec.pop("verbose", None)
    if "cron" in spec:
        spec["schedule"] = spec.pop("cron")
    if "target" in spec:
        bucket, _, path = spec.pop("target").partition("/")
        if bucket:
            spec["bucket"] = bucket
        if path:
            spec["path"] = path


@backups.step("v1beta1", "v1alpha1")
def join_target(obj):
    spec = obj.get("spec", {})
    if "schedule" in spec:
        spec["cron"] = spec.pop("schedule")
    bucket, path = spec.pop("bucket", ""), spec.pop("path", "")
    if bucket or path:
        spec["target"] = f"{bucket}/{path}" if path else bucket


backups.between(
    "v1beta1",
    "v1",
    move("spec.keep", "spec.retention.count"),
    only("v1", "spec.timeZone"),
)
