"""The strategies of HorizontalPodAutoscalers: rules for creates and updates."""

from __future__ import annotations

from polykind.apis.autoscaling import conversion, defaults, validation
from polykind.cache.cached_object import CachedObject, Representation
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy
from polykind.resources.builtin_codec import BuiltinRepresenter


class HorizontalPodAutoscalerStrategy(BuiltinStrategy):
    """Prepares and validates HorizontalPodAutoscalers at v2. The server first converts those at v1 to v2."""

    unconditional_update = True

    def default(self, obj: JsonObject) -> None:
        conversion.drop_conversion_annotations(obj["metadata"])
        defaults.default_autoscaler_v2(obj)

    def canonicalize(self, obj: JsonObject) -> None:
        # kube-apiserver sets the defaults of v2 when it reads a stored object, even one that a client wrote at v1.
        defaults.default_autoscaler_v2(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_autoscaler_spec(obj["spec"], None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_autoscaler_spec(new["spec"], old["spec"])

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_autoscaler_status(new["status"])


class HorizontalPodAutoscalerV1Representer(BuiltinRepresenter):
    """Returns stored HorizontalPodAutoscalers at v1 in responses."""

    def show(self, cached: CachedObject) -> Representation | None:
        shown = super().show(cached)
        if shown is None or conversion.CURRENT_METRICS.encode() not in shown.data:
            return shown
        obj: JsonObject = json_codec.decode(shown.data)
        # managedFields may name the annotation in an object that lacks it.
        conversion.fill_current_metrics(obj["metadata"].get("annotations") or {})
        return Representation(json_codec.encode(obj), shown.labels)


class HorizontalPodAutoscalerV1Strategy(HorizontalPodAutoscalerStrategy):
    """Sets the defaults of HorizontalPodAutoscalers at v1, and the annotations that a conversion from v2 would set."""

    representer_class = HorizontalPodAutoscalerV1Representer

    def default(self, obj: JsonObject) -> None:
        defaults.default_autoscaler_v1(obj)
        obj.update(conversion.to_v1(conversion.to_v2(obj)))
