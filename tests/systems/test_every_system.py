"""Every system is used by the same commands, and answers sentences, not the order they come in."""

import json
from itertools import permutations

import pytest

from bert4so.io.jsonl import write_records

FIVE = ("we eat bread", "first wake up on day 3", "now sleep", "later go out", "home we go")


@pytest.mark.parametrize("passes", [1, 3])
def test_the_answer_depends_on_the_sentences_only(bert4so, trained, passes):
    shuffles = list(permutations(FIVE))[::29]
    given = "\n\n".join("\n".join(shuffle) for shuffle in shuffles)
    code, out, err = bert4so("order", "--model", trained, "--passes", passes, stdin=given)
    assert code == 0, err
    answers = out.strip().split("\n\n")
    assert len(answers) == len(shuffles)
    (answer,) = set(answers)
    assert sorted(answer.split("\n")) == sorted(FIVE)


def test_many_documents_can_be_gone_on_with(bert4so, trained, tmp_path):
    records = [{"id": str(k), "sentences": [*FIVE[k:], *FIVE[:k]][: 2 + k]} for k in range(4)]
    few, many, out = (tmp_path / name for name in ("few.jsonl", "many.jsonl", "out.jsonl"))
    write_records(few, records[:2])
    write_records(many, records)
    asked = ["--model", trained, "--out"]
    assert bert4so("order", few, *asked, out)[0] == 0
    code, _, err = bert4so("order", many, *asked, out, "--resume")
    assert code == 0, err
    assert bert4so("order", many, *asked, tmp_path / "whole.jsonl")[0] == 0
    found, whole = (
        [json.loads(line)["order"] for line in (tmp_path / name).read_text().splitlines()]
        for name in ("out.jsonl", "whole.jsonl")
    )
    assert found == whole
    assert len(found) == 4
