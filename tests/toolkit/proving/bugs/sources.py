"""Sources of a GitOps tool: URLs, references and intervals."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from tests.toolkit.proving.bugs.family import TEXT, Family, Object, fields, rename, spec

GROUP = "sources.example.com"
OLDER = {"spec": fields(url=TEXT, interval=TEXT, gitImplementation=TEXT, reference=fields(branch=TEXT, tag=TEXT))}
NEWER = {"spec": fields(url=TEXT, interval=TEXT, provider=TEXT, ref=fields(branch=TEXT, tag=TEXT))}


def down(obj: Object) -> None:
    rename(spec(obj), "ref", "reference")
    rename(spec(obj), "provider", "gitImplementation")


def up(obj: Object) -> None:
    rename(spec(obj), "reference", "ref")
    rename(spec(obj), "gitImplementation", "provider")


FAMILY = Family(f"Source.{GROUP}", {"v1beta1": OLDER, "v1": NEWER}, down, up)


@FAMILY.after_down("hard")
def query_of_the_url_is_lost(obj: Object) -> None:
    parts = urlsplit(spec(obj).get("url", ""))
    if parts.scheme == "https" and parts.query and parts.port:
        obj["spec"]["url"] = urlunsplit(parts._replace(query=""))


@FAMILY.after_down("medium")
def host_of_the_url_is_lowered(obj: Object) -> None:
    url = spec(obj).get("url", "")
    if "://" in url:
        scheme, _, rest = url.partition("://")
        host, slash, path = rest.partition("/")
        obj["spec"]["url"] = f"{scheme}://{host.lower()}{slash}{path}"


@FAMILY.after_up("hard")
def master_becomes_main(obj: Object) -> None:
    ref = spec(obj).get("ref") or {}
    if ref.get("branch") == "master":
        ref["branch"] = "main"


@FAMILY.after_down("medium")
def minutes_become_seconds(obj: Object) -> None:
    interval = spec(obj).get("interval", "")
    if interval.endswith("m") and interval[:-1].isdigit():
        obj["spec"]["interval"] = f"{60 * int(interval[:-1])}s"


@FAMILY.after_down("easy")
def branch_and_tag_exclude_each_other(obj: Object) -> None:
    reference = spec(obj).get("reference") or {}
    if "branch" in reference:
        reference.pop("tag", None)


@FAMILY.up("easy")
def forgets_the_reference(obj: Object) -> None:
    rename(spec(obj), "gitImplementation", "provider")
