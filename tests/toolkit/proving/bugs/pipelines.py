"""Pipelines: images are split into parts, and parameters become lists."""

from __future__ import annotations

from tests.toolkit.proving.bugs.family import TEXT, Family, Object, array, fields, mapping, spec

GROUP = "pipelines.example.com"
OLDER = {"spec": fields(image=TEXT, params=mapping(TEXT), steps=array(fields(name=TEXT, script=TEXT)))}
NEWER = {
    "spec": fields(
        image=fields(repository=TEXT, tag=TEXT),
        params=array(
            fields(name=TEXT, value=TEXT), **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
        ),
        steps=array(fields(name=TEXT, script=TEXT)),
    )
}
NEWER["spec"]["properties"]["params"]["items"]["required"] = ["name", "value"]
NEWER["spec"]["properties"]["image"]["required"] = ["repository"]
NEWER["spec"]["properties"]["image"]["properties"]["repository"] = {
    "type": "string",
    "pattern": r"^([a-z.]+(:[0-9]+)?/)?[a-z/-]+$",
}
NEWER["spec"]["properties"]["image"]["properties"]["tag"] = {"type": "string", "pattern": "^[a-z0-9.]+$"}
OLDER["spec"]["properties"]["image"] = {"type": "string", "pattern": r"^([a-z.]+(:[0-9]+)?/)?[a-z/-]+(:[a-z0-9.]+)?$"}


def down(obj: Object) -> None:
    inner = spec(obj)
    if "image" in inner:
        image = inner["image"]
        inner["image"] = ":".join(image[key] for key in ("repository", "tag") if key in image)
    if "params" in inner:
        inner["params"] = {param["name"]: param.get("value", "") for param in inner["params"]}


def up(obj: Object) -> None:
    inner = spec(obj)
    if "image" in inner:
        head, slash, tail = inner["image"].rpartition("/")
        name, colon, tag = tail.partition(":")
        inner["image"] = {"repository": f"{head}{slash}{name}", **({"tag": tag} if colon else {})}
    if "params" in inner:
        inner["params"] = [{"name": name, "value": value} for name, value in inner["params"].items()]


FAMILY = Family(f"Pipeline.{GROUP}", {"v1beta1": OLDER, "v1": NEWER}, down, up)


@FAMILY.converter("hard")
def port_of_the_registry_is_a_tag() -> object:
    def split(obj: Object) -> None:
        inner = spec(obj)
        image = inner.pop("image", None)
        up(obj)
        if image is not None:
            name, colon, tag = image.rpartition(":")
            inner["image"] = {"repository": name, "tag": tag} if colon else {"repository": tag}

    return FAMILY.conversions(up=split)


@FAMILY.after_down("hard")
def dotted_parameters_are_nested(obj: Object) -> None:
    params = spec(obj).get("params")
    if params is not None:
        obj["spec"]["params"] = {name.replace(".", "-"): value for name, value in params.items()}


@FAMILY.after_up("hard")
def scripts_lose_their_last_newline(obj: Object) -> None:
    for step in spec(obj).get("steps") or []:
        if step.get("script", "").endswith("\n"):
            step["script"] = step["script"][:-1]


@FAMILY.after_down("hard")
def steps_after_the_fifth_are_lost(obj: Object) -> None:
    if len(spec(obj).get("steps") or []) > 5:
        obj["spec"]["steps"] = obj["spec"]["steps"][:5]


@FAMILY.after_down("medium")
def empty_parameters_are_lost(obj: Object) -> None:
    params = spec(obj).get("params")
    if params is not None:
        obj["spec"]["params"] = {name: value for name, value in params.items() if value}


@FAMILY.after_down("easy")
def fails_without_a_tag(obj: Object) -> None:
    if "image" in spec(obj):
        _, _ = obj["spec"]["image"].split(":")


@FAMILY.after_up("hard")
def two_equal_steps_become_one(obj: Object) -> None:
    steps = spec(obj).get("steps")
    if steps:
        obj["spec"]["steps"] = [step for at, step in enumerate(steps) if step not in steps[:at]]
