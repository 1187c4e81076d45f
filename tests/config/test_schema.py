import tomllib

import pytest

from bert4so.config.toml import dump_toml
from bert4so.errors import UserError
from bert4so.systems import bert4so
from bert4so.systems.run_config import read_run

WHOLE = """
system = "bert4so"
corpus = "neurips"
scale = "desk"
seed = 3
[model]
layers = 1
[train]
epochs = 2
[train.learning_rate]
decoder = 0.5
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(WHOLE)
    return path


def test_values_of_the_file_override_the_defaults_at_its_scale(path):
    run = read_run(path)
    assert (run.model.layers, run.train.epochs, run.seed) == (1, 2, 3)
    assert run.model.encoder == bert4so.CPU_PRESET["model"]["encoder"]
    desk = bert4so.CPU_PRESET["train"]["learning_rate"]["sentence_encoder"]
    assert run.train.learning_rate.sentence_encoder == desk
    assert run.train.learning_rate.decoder == 0.5
    assert run.train.batch == 32


def test_paper_scale_has_the_values_of_the_paper(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('system = "bert4so"\ncorpus = "neurips"\n')
    run = read_run(path)
    model, train = run.model, run.train
    assert run.scale == "paper"
    assert (model.encoder, model.pooling, model.layers) == ("bert-base-uncased", "cls", 2)
    assert (model.hidden, model.loss, model.gamma) == (200, "margin-list-mle", 1.0)
    assert (train.epochs, train.batch, train.warmup) == (5, 32, 0.2)
    assert train.learning_rate.model_dump() == {
        "sentence_encoder": 5e-5,
        "document_encoder": 5e-5,
        "decoder": 5e-3,
    }


def test_assignments_override_the_file(path):
    run = read_run(path, ["train.epochs=7", "model.loss=list-mle", "train.learning_rate.decoder=1"])
    assert (run.train.epochs, run.model.loss, run.train.learning_rate.decoder) == (7, "list-mle", 1)


def test_written_settings_read_back(path, tmp_path):
    run = read_run(path, ["model.gamma=0.25", 'corpus=a "quoted" name'])
    written = tmp_path / "again.toml"
    written.write_text(dump_toml(run))
    assert read_run(written) == run
    assert tomllib.loads(dump_toml(run))["model"]["hidden"] == 200  # defaults are written too


@pytest.mark.parametrize(
    "change, message",
    [
        ("train.epoch=1", '[train]: unknown key "epoch" (did you mean "epochs"?)'),
        ("model.layer=1", '[model]: unknown key "layer" (did you mean "layers"?)'),
        (
            "train.learning_rate.decodr=1",
            '[train.learning_rate]: unknown key "decodr" (did you mean "decoder"?)',
        ),
        ("sead=1", ': unknown key "sead" (did you mean "seed"?)'),
        ("model.layers=two", "[model]: layers = 'two': input should be a valid integer"),
        ("model.layers=2.0", "[model]: layers = 2.0: input should be a valid integer"),
        ("model.layers=0", "[model]: layers = 0: input should be greater than or equal to 1"),
        ("model.gamma=1.5", "[model]: gamma = 1.5: input should be less than or equal to 1"),
        ("train.batch=true", "[train]: batch = True: input should be a valid integer"),
        (
            "model.loss=list-mie",
            "[model]: loss = 'list-mie': input should be 'margin-list-mle' or 'list-mle' "
            '(did you mean "list-mle"?)',
        ),
        ("system=bert4s", ": system = 'bert4s': no such system (did you mean \"bert4so\"?)"),
        ("train=3", ": train = 3: must be a table"),
        ("scale=big", ": scale = 'big': input should be 'paper' or 'desk'"),
    ],
)
def test_the_error_for_a_wrong_value_says_what_is_allowed(path, change, message):
    with pytest.raises(UserError) as error:
        read_run(path, [change])
    assert str(error.value) == f"{path} with --set {change}{' ' * (message[0] == '[')}{message}"


def test_a_missing_system_and_a_missing_corpus_are_named(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("seed = 1\n")
    with pytest.raises(UserError, match='missing key "system"'):
        read_run(path)
    path.write_text('system = "bert4so"\n')
    with pytest.raises(UserError, match='missing key "corpus"'):
        read_run(path)


def test_errors_name_missing_and_broken_files(tmp_path):
    with pytest.raises(UserError, match=rf"^{tmp_path}/none\.toml: no such file$"):
        read_run(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("system = \n")
    with pytest.raises(UserError, match=r"broken\.toml: not valid TOML: .*line 1"):
        read_run(broken)


def test_an_assignment_needs_a_value(path):
    with pytest.raises(UserError, match=r"--set epochs: must be table\.key=value"):
        read_run(path, ["epochs"])
