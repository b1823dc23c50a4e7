"""The strategies of HorizontalPodAutoscalers."""

from __future__ import annotations

from polykind.apis.autoscaling import conversion, defaults, validation
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class HorizontalPodAutoscalerStrategy(BuiltinStrategy):
    """Prepares and validates HorizontalPodAutoscalers at v2, to which those at v1 are converted."""

    unconditional_update = True

    def default(self, obj: JsonObject) -> None:
        conversion.drop_conversion_annotations(obj["metadata"])
        defaults.default_autoscaler_v2(obj)

    def canonicalize(self, obj: JsonObject) -> None:
        # kube-apiserver sets the defaults of v2 when it reads the stored object, also if the client wrote it at v1.
        defaults.default_autoscaler_v2(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_autoscaler_spec(obj["spec"], None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_autoscaler_spec(new["spec"], old["spec"])

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_autoscaler_status(new["status"])


class HorizontalPodAutoscalerV1Strategy(HorizontalPodAutoscalerStrategy):
    """Sets the defaults of HorizontalPodAutoscalers at v1, and the annotations and fields that a conversion sets."""

    def default(self, obj: JsonObject) -> None:
        defaults.default_autoscaler_v1(obj)
        obj.update(conversion.normalize_v1(obj))
