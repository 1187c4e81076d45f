"""The notebook runs from its first cell to its last, here with tiny models."""

import json
from pathlib import Path

import matplotlib as mpl

from conftest import tiny_values

NOTEBOOK = Path(__file__).parent.parent / "examples" / "reproduce.ipynb"


def test_every_cell_runs(encoder, documents, tmp_path, capsys):
    mpl.use("agg")
    records = "".join(json.dumps({"id": d.id, "sentences": d.sentences}) + "\n" for d in documents)
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.jsonl").write_text(records)
    tiny = {
        "corpus": str(tmp_path),
        "runs": str(tmp_path / "runs"),
        "changes": {
            system: tiny_values(str(encoder), system) for system in ("att-order-net", "bert4so")
        },
    }
    known = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), known)
        if "parameters" in cell["metadata"].get("tags", []):
            assert known.keys() >= tiny.keys()
            known |= tiny
    printed = capsys.readouterr().out
    assert printed.count("PMR") == 2
    assert "p = " in printed
    assert "confidence" in printed
