"""Pruning of fields that a manager no longer applies."""

from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st

from polykind.apply.apply_pruning import remove_dropped, remove_unowned
from polykind.apply.fieldset import difference
from polykind.apply.merge import merge
from polykind.apply.typed_value import applied_fields
from tests.apply.test_field_manager import SPECS, Json, garden
from tests.apply.test_typed_value import ROOT


@given(st.tuples(SPECS, SPECS, SPECS, SPECS))
def test_fast_and_slow_pruning_agree(specs: tuple[Json, Json, Json, Json]) -> None:
    # An empty keyed list counts as not stated, so the slow path would remove even what the manager still applies.
    filled = ({name: value for name, value in spec.items() if value != []} for spec in specs)
    unowned, other, last, mine = (garden(**spec) for spec in filled)
    value = unowned
    for config in (other, last, mine):
        value = merge(value, config, ROOT)
    before = copy.deepcopy(value)
    sets = {
        name: applied_fields(config, ROOT) or {} for name, config in (("other", other), ("last", last), ("mine", mine))
    }
    held = [sets["mine"], sets["other"]]
    dropped = difference(sets["last"], sets["mine"])
    assert ROOT.map is not None
    narrow = remove_dropped(value, ROOT.map, dropped, sets["last"], sets["mine"], held)
    assert narrow == remove_unowned(value, ROOT, sets["last"], held)
    assert value == before
