"""For any text: a permutation, the same every time, and the same alone as in a batch."""

import json
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bert4so import Orderer

TESTED_SYSTEMS = ["bert4so"]  # these tests do not depend on the system

SENTENCE = st.one_of(
    st.text(min_size=1, max_size=40),
    st.text(alphabet="😀👩‍👩‍👧é\u202eאבג\x00\x07\ufeff.,!?", min_size=1, max_size=12),
    st.sampled_from(["bread " * 1700, "[SEP]", "[CLS] [PAD]", "...", "\ud800", "zzz qqq", "same"]),
).filter(lambda sentence: not sentence.isspace())
DOCUMENTS = st.lists(st.lists(SENTENCE, min_size=1, max_size=7), min_size=1, max_size=4)
FUZZ = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@FUZZ
@given(documents=DOCUMENTS)
def test_any_text_is_ordered(model, documents):
    orderer = Orderer(model)
    together = list(orderer.order_all(documents))
    assert together == list(orderer.order_all(documents))
    for document, ordering in zip(documents, together, strict=True):
        assert sorted(ordering.order) == list(range(len(document)))
        assert list(ordering.sentences) == [document[i] for i in ordering.order]
        alone = orderer.order(document)
        assert alone.scores == pytest.approx(ordering.scores, abs=1e-4)
        scores = sorted(ordering.scores)
        if all(b - a > 1e-3 for a, b in pairwise(scores)):
            assert alone.order == ordering.order


@FUZZ
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
        max_leaves=6,
    ),
    key=st.sampled_from(["sentences", "id", "other"]),
)
def test_any_record_is_ordered_or_refused_in_one_line(bert4so, trained, tmp_path, value, key):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"sentences": ["a", "b"], key: value}))
    code, out, err = bert4so("order", path, "--model", trained)
    assert code in (0, 2)
    if code:
        assert (out, err.count("\n")) == ("", 1)
    else:
        assert json.loads(out)[key] == value
