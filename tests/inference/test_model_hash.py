"""The hash of a model covers exactly the files that its results depend on."""

import shutil

from bert4so.inference.orderer import BUNDLED
from bert4so.io.model_files import hash_model
from bert4so.training.checkpoint import save_model


def test_the_hash_of_an_export_covers_the_graph_and_the_tokenizer(tmp_path):
    folder = shutil.copytree(BUNDLED, tmp_path / "copy")
    same = hash_model(BUNDLED)
    assert hash_model(folder) == same
    for name in ("README.md", "export.json", "config.json"):
        (folder / name).write_text("other")
        assert hash_model(folder) == same
    for name in ("model.onnx", "tokenizer.json", "layout.json"):
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
        assert hash_model(folder) != same
        (folder / name).write_bytes(before)
    assert hash_model(folder) == same


def test_the_hash_of_a_run_covers_every_file(run, model, tmp_path):
    save_model(tmp_path, run, model)
    (tmp_path / "tiny.toml").unlink()  # made by the fixture
    hashes = {hash_model(tmp_path)}
    files = [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    for path in files:
        path.write_bytes(path.read_bytes() + b" ")
        hashes.add(hash_model(tmp_path))
    assert len(hashes) == 1 + len(files)
