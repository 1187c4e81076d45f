"""Damaged and hostile folders of models, made from good ones by a seed.

    for folder in hostile_exports(good, place, seed): ...   # 100 folders
    python tests/hostile.py order FOLDER...                 # what ordering with each comes to

No folder may execute code (which would create `MARKER` in the current directory), crash, or give a
traceback: each is refused by one `UserError`, or orders.
"""

import json
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import onnx
from onnx import TensorProto, helper

MARKER = "marker"
SENTENCES = ["then eat bread", "first we wake up", "now sleep", "later go out"]
SPARSE_BYTES = 1 << 32
DEPTH = 100_000
FLIPS = 30
"""Folders in which one bit of model.onnx, or of model.safetensors, is flipped."""

Mutation = Callable[[Path, Random], None]


class Payload:
    """Unpickled, it creates the folder `MARKER`."""

    def __reduce__(self):
        return os.mkdir, (MARKER,)


def hostile_exports(good: Path, place: Path, seed: int) -> Iterator[Path]:
    """100 copies of an exported folder, each with one thing wrong; named by what that is."""
    return _copies(good, place, seed, export_mutations())


def hostile_runs(good: Path, place: Path, seed: int) -> Iterator[Path]:
    """100 copies of the folder of a run of `bert4so`, each with one thing wrong."""
    return _copies(good, place, seed, run_mutations())


def _copies(good: Path, place: Path, seed: int, mutations: dict[str, Mutation]) -> Iterator[Path]:
    for name in chosen(mutations, Random(seed)):
        yield hostile_copy(good, place, seed, mutations, name)


def hostile_copy(
    good: Path, place: Path, seed: int, mutations: dict[str, Mutation], name: str
) -> Path:
    """The copy of a good folder that one of the names in `chosen` stands for."""
    folder = shutil.copytree(good, place / name.replace("/", "-"))
    mutations[name if name in mutations else "flip"](folder, Random(f"{seed}/{name}"))
    return folder


def chosen(mutations: dict[str, Mutation], rng: Random) -> list[str]:
    """The names of 100 of the mutations; of flips, each is another."""
    names = [name for name in mutations if name != "flip"]
    names += [f"flip-{k}" for k in range(max(100 - len(names), FLIPS))]
    rng.shuffle(names)
    return names[:100]


def export_mutations() -> dict[str, Mutation]:
    found = {"flip": partial(flip, "model.onnx")}
    for file in ("export.json", "layout.json", "tokenizer.json", "config.json"):
        found |= {f"{file}-{name}": partial(change, file) for name, change in JSON_FILE.items()}
    found |= layout_mutations("layout.json") | tokenizer_mutations("tokenizer.json")
    found |= config_mutations("config.json")
    found["tokenizer-escaped-regex"] = partial(escaped_regex, "tokenizer.json")
    found |= {f"onnx-{name}": partial(graph, change) for name, change in GRAPHS.items()}
    for name in ("missing", "empty", "truncated", "folder", "garbage", "huge", "pickle"):
        found[f"onnx-{name}"] = partial(ANY_FILE[name], "model.onnx")
    return found


def run_mutations() -> dict[str, Mutation]:
    found = {"flip": partial(flip, "model.safetensors")}
    for file in ("input/layout.json", "input/tokenizer.json", "input/config.json"):
        chosen = ("missing", "truncated", "list", "deep", "huge", "bad-utf8")
        found |= {f"{file}-{name}": partial(JSON_FILE[name], file) for name in chosen}
    found |= layout_mutations("input/layout.json") | tokenizer_mutations("input/tokenizer.json")
    found |= config_mutations("input/config.json")
    for name in ("missing", "empty", "truncated", "folder", "garbage", "huge", "pickle"):
        found[f"weights-{name}"] = partial(ANY_FILE[name], "model.safetensors")
        found[f"run.toml-{name}"] = partial(ANY_FILE[name], "run.toml")
    found |= {f"weights-{name}": partial(weights, change) for name, change in WEIGHTS.items()}
    found["weights-nan"] = nan_weights
    found |= {f"run-{name}": partial(run_toml, old, new) for name, (old, new) in RUNS.items()}
    return found


# Files of any kind.


def missing(file: str, folder: Path, rng: Random) -> None:
    (folder / file).unlink()


def written(content: bytes, file: str, folder: Path, rng: Random) -> None:
    (folder / file).write_bytes(content)


def truncated(file: str, folder: Path, rng: Random) -> None:
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: rng.randrange(1, len(content))])


def as_folder(file: str, folder: Path, rng: Random) -> None:
    (folder / file).unlink()
    (folder / file).mkdir()


def huge(file: str, folder: Path, rng: Random) -> None:
    os.truncate(folder / file, SPARSE_BYTES)


def garbage(file: str, folder: Path, rng: Random) -> None:
    (folder / file).write_bytes(rng.randbytes(1000))


def flip(file: str, folder: Path, rng: Random) -> None:
    """Flip a bit, in half of the folders one of the first that are not weights."""
    content = bytearray((folder / file).read_bytes())
    where = rng.choice([len(content), min(len(content), 4000)])
    content[rng.randrange(where)] ^= 1 << rng.randrange(8)
    (folder / file).write_bytes(content)


ANY_FILE: dict[str, Callable] = {
    "missing": missing,
    "empty": partial(written, b""),
    "truncated": truncated,
    "folder": as_folder,
    "garbage": garbage,
    "huge": huge,
    "pickle": partial(written, pickle.dumps(Payload())),
}

JSON_FILE: dict[str, Callable] = {
    **{name: ANY_FILE[name] for name in ("missing", "empty", "truncated", "folder", "huge")},
    "bad-utf8": partial(written, b'{"format": "\xff"}'),
    "deep": partial(written, b"[" * DEPTH),
    "deep-objects": partial(written, b'{"format":' * DEPTH),
    "list": partial(written, b"[1]"),
    "number": partial(written, b"1"),
    "digits": partial(written, b'{"format": ' + b"9" * 5000 + b"}"),
}


def changed(file: str, change: Callable[[dict], object], folder: Path, rng: Random) -> None:
    """Change the JSON object of a file."""
    value = json.loads((folder / file).read_text(encoding="utf-8"))
    change(value)
    (folder / file).write_text(json.dumps(value), encoding="utf-8")


def setting(key: str, value: object) -> Callable[[dict], object]:
    return lambda given: given.update({key: value})


def layout_mutations(file: str) -> dict[str, Mutation]:
    wrong = [
        ("positions", 10**9), ("positions", -1), ("positions", 3), ("positions", "512"),
        ("positions", 60_000), ("cls", 10**6), ("cls", None), ("sep", 1.5), ("pad", -1),
        ("unknown", [1]), ("segments", "yes"), ("other", 1),
    ]  # fmt: skip
    return {
        f"layout-{key}-{json.dumps(value)}": partial(changed, file, setting(key, value))
        for key, value in wrong
    }


def tokenizer_mutations(file: str) -> dict[str, Mutation]:

    def split(pattern: str) -> Callable[[dict], object]:
        how = {"type": "Split", "behavior": "Isolated", "invert": False}
        return setting("pre_tokenizer", {**how, "pattern": {"Regex": pattern}})

    charsmap = {"type": "Precompiled", "precompiled_charsmap": "AAAAgAAAAAD/////"}
    doubling = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
    changes: dict[str, Callable[[dict], object]] = {
        "slow-regex": split("^(([a-z ])+.)+[A-Z]([a-z ])+$"),
        "bad-regex": split("(((((" * 1000),
        "doubling": setting("normalizer", {"type": "Sequence", "normalizers": [doubling] * 40}),
        "precompiled": setting("normalizer", charsmap),
        "no-unknown": lambda given: given["model"].update(unk_token="[NONE]"),
        "high-ids": lambda given: given["model"].update(
            vocab={word: number + 10**6 for word, number in given["model"]["vocab"].items()}
        ),
        "many-words": lambda given: given["model"]["vocab"].update(
            {f"x{k}": 1000 + k for k in range(20_000)}
        ),
        "ids-above-32-bits": lambda given: given["model"]["vocab"].update(bread=2**40),
        "no-words": lambda given: given["model"].update(vocab={}),
        "long-words": lambda given: given["model"].update(max_input_chars_per_word=10**9),
        "added": lambda given: given["added_tokens"].append(
            {"id": 10**6, "content": "bread", "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": True, "special": False}
        ),
        "other-model": setting("model", {"type": "Other"}),
    }  # fmt: skip
    return {f"tokenizer-{name}": partial(changed, file, c) for name, c in changes.items()}


def escaped_regex(file: str, folder: Path, rng: Random) -> None:
    """A regular expression whose key is not spelled out."""
    tokenizer_mutations(file)["tokenizer-slow-regex"](folder, rng)
    text = (folder / file).read_text(encoding="utf-8")
    (folder / file).write_text(text.replace('"Regex"', '"\\u0052egex"'), encoding="utf-8")


def config_mutations(file: str) -> dict[str, Mutation]:
    evil = {"attn_implementation": "org/repo@rev", "_attn_implementation": "org/repo"}
    changes = {
        "kernel": {**evil, "_attn_implementation_internal": "org/repo"},
        "experts": {"experts_implementation": "org/repo", "_experts_implementation": "org/repo"},
        "auto-map": {"auto_map": {"AutoConfig": "evil.C", "AutoModel": "evil.M"}},
        "trust": {"trust_remote_code": True, "auto_map": {"AutoModel": "org/repo--evil.M"}},
        "quantization": {"quantization_config": {"quant_method": "bitsandbytes"}},
        "dtype": {"dtype": "load", "torch_dtype": "__builtins__"},
        "weights": {"transformers_weights": "../../etc/passwd"},
        "type": {"model_type": "mra"},
        "no-type": {"model_type": None},
        "layers": {"num_hidden_layers": 10**9},
        "width": {"hidden_size": 2**24},
        "odd-width": {"hidden_size": 31},
        "negative": {"vocab_size": -1},
        "digits": {"vocab_size": 10**18},
        "activation": {"hidden_act": "none"},
        "list": {"hidden_size": [32]},
        "per-layer": {"per_layer_config": {"0": {"hidden_size": 1}}},
    }
    return {
        f"config-{name}": partial(changed, file, lambda given, values=values: given.update(values))
        for name, values in changes.items()
    }


# model.onnx


def graph(change: Callable[[onnx.ModelProto], object], folder: Path, rng: Random) -> None:
    model = onnx.load(folder / "model.onnx")
    change(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString())


def _subgraph() -> onnx.GraphProto:
    out = helper.make_tensor_value_info("o", TensorProto.FLOAT, None)
    return helper.make_graph([helper.make_node("Identity", ["scores"], ["o"])], "g", [], [out])


def _node(*args, **kwargs) -> Callable[[onnx.ModelProto], None]:
    """Put a node before the scores."""

    def change(model: onnx.ModelProto) -> None:
        model.graph.node.append(helper.make_node(*args, **kwargs))

    return change


def _weight(model: onnx.ModelProto, data_type: int = TensorProto.FLOAT) -> TensorProto:
    return max(
        (w for w in model.graph.initializer if w.data_type == data_type), key=lambda w: w.ByteSize()
    )


def _external(model: onnx.ModelProto) -> None:
    weight = _weight(model)
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "/etc/passwd"), ("offset", "0"), ("length", "64")):
        entry = weight.external_data.add()
        entry.key, entry.value = key, value


def _all_numbers(value: float) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        import numpy as np

        for weight in model.graph.initializer:
            if weight.data_type == TensorProto.FLOAT:
                count = len(weight.raw_data) // 4
                weight.raw_data = np.full(count, value, np.float32).tobytes()

    return change


def _dims(*dims: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        _weight(model).dims[:] = dims

    return change


def _shape_value(model: onnx.ModelProto) -> None:
    weight = next(w for w in model.graph.initializer if w.data_type == TensorProto.INT64)
    weight.raw_data = (2**40).to_bytes(8, "little") * max(1, len(weight.raw_data) // 8)


def _renamed(model: onnx.ModelProto) -> None:
    for node in model.graph.node:
        node.output[:] = ["other" if name == "scores" else name for name in node.output]
    model.graph.output[0].name = "other"


def _flat(model: onnx.ModelProto) -> None:
    """Scores of another shape than is declared."""
    for node in model.graph.node:
        node.output[:] = ["inner" if name == "scores" else name for name in node.output]
    model.graph.node.append(helper.make_node("Transpose", ["inner"], ["scores"], perm=[1, 0]))


def _cycle(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[:] = ["scores"]


def _function(model: onnx.ModelProto) -> None:
    node = helper.make_node("Identity", ["x"], ["y"])
    opset = [helper.make_opsetid("", 23)]
    model.functions.append(helper.make_function("own", "f", ["x"], ["y"], [node], opset))
    model.opset_import.append(helper.make_opsetid("own", 1))


def _many_nodes(model: onnx.ModelProto) -> None:
    node = model.graph.node[0]
    model.graph.node.extend([node] * 30_000)


def _training(model: onnx.ModelProto) -> None:
    model.training_info.add().algorithm.CopyFrom(_subgraph())


def _sparse(model: onnx.ModelProto) -> None:
    model.graph.sparse_initializer.add().dims[:] = [10**9, 10**9]


def _no_inputs(model: onnx.ModelProto) -> None:
    del model.graph.input[:]


def _constant(model: onnx.ModelProto) -> None:
    value = helper.make_tensor("v", TensorProto.FLOAT, [1], [0.0])
    model.graph.node.append(helper.make_node("Constant", [], ["c"], value=value))


GRAPHS: dict[str, Callable[[onnx.ModelProto], object]] = {
    "loop": _node("Loop", ["", ""], ["l"], body=_subgraph()),
    "if": _node("If", ["real"], ["i"], then_branch=_subgraph(), else_branch=_subgraph()),
    "scan": _node("Scan", ["ids"], ["s"], body=_subgraph(), num_scan_inputs=1),
    "hidden-graph": _node("Identity", ["ids"], ["h"], body=_subgraph()),
    "hidden-graphs": _node("Identity", ["ids"], ["h"], bodies=[_subgraph()]),
    "custom-domain": _node("Own", ["ids"], ["c"], domain="own.domain"),
    "custom-operator": _node("Own", ["ids"], ["c"]),
    "python-operator": _node("PyOp", ["ids"], ["c"], domain="com.microsoft"),
    "constant-of-shape": _node("ConstantOfShape", ["starts"], ["c"]),
    "random": _node("RandomNormal", [], ["r"], shape=[10**6, 10**6]),
    "constant": _constant,
    "function": _function,
    "external": _external,
    "nan": _all_numbers(float("nan")),
    "infinite": _all_numbers(float("inf")),
    "large": _all_numbers(1e38),
    "giant-shape": _dims(2**31, 2**31),
    "overflowing-shape": _dims(2**62, 4),
    "negative-shape": _dims(-1, 5),
    "many-dimensions": _dims(*[1] * 100),
    "shape-value": _shape_value,
    "renamed": _renamed,
    "flat": _flat,
    "cycle": _cycle,
    "many-nodes": _many_nodes,
    "training": _training,
    "sparse": _sparse,
    "no-inputs": _no_inputs,
    "no-nodes": lambda model: model.graph.ClearField("node"),
    "no-weights": lambda model: model.graph.ClearField("initializer"),
    "double": lambda model: model.MergeFrom(onnx.ModelProto.FromString(model.SerializeToString())),
    "opset": lambda model: model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3)),
    "opset-version": lambda model: setattr(model.opset_import[0], "version", 10**9),
    "ir-version": lambda model: setattr(model, "ir_version", 10**9),
}


# run.toml and model.safetensors


def run_toml(old: str, new: str, folder: Path, rng: Random) -> None:
    text = (folder / "run.toml").read_text()
    assert old in text, f"run.toml has no {old}"
    (folder / "run.toml").write_text(text.replace(old, new, 1))


RUNS = {
    "deep": ("corpus =", f"corpus = {'[' * DEPTH}"),
    "digits": ("seed = 1", f"seed = {'9' * 5000}"),
    "layers": ("layers = 2", "layers = 1000000000"),
    "width": ("hidden = 200", "hidden = 1000000000000"),
    "overflow": ("hidden = 200", "hidden = 9000000000000000000"),
    "system": ('system = "bert4so"', 'system = "b-tsort"'),
    "no-system": ('system = "bert4so"', 'system = "../evil"'),
    "model": ("[model]", "[model.inner]"),
    "type": ("hidden = 200", "hidden = []"),
    "long-key": ("[model]", f"[model]\n{'k' * 100_000} = 1"),
    "long-value": ("hidden = 200", f'hidden = "{"v" * 100_000}"'),
}


def weights(change: Callable[[dict], dict], folder: Path, rng: Random) -> None:
    path = folder / "model.safetensors"
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.dumps(change(json.loads(data[8 : 8 + length]))).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + length :])


def _each(key: str, value: object) -> Callable[[dict], dict]:
    return lambda header: {
        name: entry if name == "__metadata__" else {**entry, key: value}
        for name, entry in header.items()
    }


def _renamed_weight(header: dict) -> dict:
    name = max(header)
    header["x" * 10_000] = header.pop(name)
    return header


def nan_weights(folder: Path, rng: Random) -> None:
    path = folder / "model.safetensors"
    data = path.read_bytes()
    length = 8 + int.from_bytes(data[:8], "little")
    count = (len(data) - length) // 4
    path.write_bytes(data[:length] + b"\x00\x00\xc0\x7f" * count)


WEIGHTS: dict[str, Callable[[dict], dict]] = {
    "giant-shape": _each("shape", [2**40, 2**40]),
    "negative-shape": _each("shape", [-1]),
    "wrong-type": _each("dtype", "F16"),
    "unknown-type": _each("dtype", "X9"),
    "integers": _each("dtype", "I32"),
    "offsets": _each("data_offsets", [0, 2**63]),
    "renamed": _renamed_weight,
    "no-format": lambda header: {n: entry for n, entry in header.items() if n != "__metadata__"},
    "format": lambda header: {**header, "__metadata__": {"bert4so": "9" * 1000}},
    "nothing": lambda header: {"__metadata__": header["__metadata__"]},
}


# What a folder comes to


def order_with(folder: Path) -> str:
    """Give "ordered", or the error by which the folder is refused."""
    from bert4so import Orderer, UserError

    try:
        ordering = Orderer.from_pretrained(folder).order(SENTENCES)
    except UserError as error:
        return _one_line(error)
    assert sorted(ordering.order) == list(range(len(SENTENCES)))
    return "ordered"


def start_with(folder: Path) -> str:
    """Give "started", or the error by which a run refuses to start from the folder.

    The good run stands beside it, as "good-run".
    """
    from bert4so import UserError
    from bert4so.training.checkpoint import load_model
    from bert4so.training.start import initial_model

    run, _ = load_model(folder.parent / "good-run")
    try:
        initial_model(run.model_copy(update={"start": str(folder)}), [])
    except UserError as error:
        return _one_line(error)
    return "started"


def _one_line(error: Exception) -> str:
    text = str(error)
    assert "\n" not in text, text
    assert len(text) < 2000, text
    return text


if __name__ == "__main__":
    act = {"order": order_with, "start": start_with}[sys.argv[1]]
    for argument in sys.argv[2:]:
        sys.stdout.write(f"{Path(argument).name}\t{act(Path(argument))}\n")
        sys.stdout.flush()
