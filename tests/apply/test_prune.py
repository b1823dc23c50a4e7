"""What goes from an object when its manager applies less."""

from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st

from polykind.apply.apply_pruning import remove_dropped, remove_unowned
from polykind.apply.fieldset import difference
from polykind.apply.merge import merge
from polykind.apply.typed_value import applied_fields
from tests.apply.test_managed import SPECS, Json, garden
from tests.apply.test_typed import ROOT


@given(st.tuples(SPECS, SPECS, SPECS, SPECS))
def test_looking_only_at_what_was_dropped_finds_the_same(specs: tuple[Json, Json, Json, Json]) -> None:
    # An empty keyed list counts as nothing stated: the long way then takes even what the manager still applies.
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
