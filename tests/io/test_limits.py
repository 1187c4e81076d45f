"""Input that is too long, truncated or damaged, and references to files outside the folder."""

import csv
import gzip
import io
import json
import random
import tracemalloc
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZipFile

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from bert4so.data import sentences
from bert4so.data.forms import FORMS
from bert4so.data.readers import anthology, awards
from bert4so.data.readers.raw_document import Columns, RawDocument
from bert4so.data.sentences import split_running_text, split_text
from bert4so.document import MAX_SENTENCE_CHARACTERS, check_order, check_sentences
from bert4so.errors import MAX_QUOTED_CHARACTERS, UserError
from bert4so.io import csv_rows, jsonl, lines, text
from bert4so.io.files import Files, open_binary, read_limited
from bert4so.io.lines import BadLine, read_lines
from bert4so.io.on_error import Skipping, stop
from bert4so.io.parquet import read_parquet_rows
from bert4so.io.source import read_source

GOOD = '{"id": "a", "sentences": ["one", "two"]}'
PACKERS = {".gz": gzip.compress, ".zst": zstandard.compress}


def read(form, path, on_bad=stop, columns=Columns()):  # noqa: B008
    return list(FORMS[form].read(Files(path), columns, on_bad))


def refusal(path, form=None):
    """The error message for a file, which must be short and on one line."""
    with pytest.raises(UserError) as caught:
        read(form, path) if form else list(read_source(path)[1])
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < len(str(path)) + 2 * MAX_QUOTED_CHARACTERS
    return message


# Limits


@pytest.mark.parametrize("end", ["", ".gz", ".zst"])
def test_long_line_is_skipped(tmp_path, monkeypatch, end):
    monkeypatch.setattr(lines, "MAX_LINE_CHARACTERS", len(GOOD))
    path = tmp_path / f"in.jsonl{end}"
    content = "\n".join([GOOD, f"{GOOD} ", GOOD, '{"x": "' + "y" * 5_000_000, GOOD])
    path.write_bytes(PACKERS.get(end, bytes)(content.encode()))
    assert refusal(path) == f"{path}:2: a line with more than {len(GOOD)} characters"
    skipping = Skipping()
    found = [where for where, _ in read_source(path, skipping)[1]]
    assert found == [f"{path}:{number}" for number in (1, 3, 5)]
    assert skipping.count == 2


def test_long_line_is_not_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_CHARACTERS", 1000)
    path = tmp_path / "in.jsonl.zst"
    path.write_bytes(zstandard.compress(b"x" * 100_000_000 + b"\n" + GOOD.encode()))
    tracemalloc.start()
    try:
        found = list(read_lines(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(found[0], BadLine)
    assert found[1:] == [GOOD]
    assert peak < 80_000_000


def test_format_is_detected_from_a_long_first_line(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_CHARACTERS", len(GOOD))
    path = tmp_path / "in"
    path.write_text(f"{GOOD} \n{GOOD}\n")
    has_records, records = read_source(path, Skipping())
    assert has_records
    assert [record for _, record in records] == [json.loads(GOOD)]


@pytest.mark.parametrize("bad", ["x" * 11, "x\udcff"])
def test_document_with_an_invalid_line_is_skipped(tmp_path, monkeypatch, bad):
    monkeypatch.setattr(lines, "MAX_LINE_CHARACTERS", 10)
    path = tmp_path / "in.txt"
    content = f"a\nb\n\nc\n{bad}\nd\n\n{bad}\n\n\ne\nf"
    path.write_bytes(content.encode(errors="surrogateescape"))
    skipping = Skipping()
    found = [record["sentences"] for _, record in read_source(path, skipping)[1]]
    assert found == [["a", "b"], ["e", "f"]]
    assert skipping.count == 2
    assert [one.where for one in read("text", path, Skipping())] == [f"{path}:1", f"{path}:11"]
    assert refusal(path).startswith(f"{path}:5: ")


@pytest.mark.parametrize("limit", ["MAX_DOCUMENT_LINES", "MAX_DOCUMENT_CHARACTERS"])
def test_text_without_blank_lines_is_refused_at_the_limit(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(text, limit, 3)
    path = tmp_path / "in.txt"
    path.write_text("a\nb\nc\n\n" + "d\n" * 4 + "\ne\n")
    assert ":5: a document with more than " in refusal(path)
    assert [record["sentences"] for _, record in read_source(path, Skipping())[1]] == [
        ["a", "b", "c"], ["e"],
    ]  # fmt: skip


def test_sentence_length_limit(tmp_path):
    longest = "x" * MAX_SENTENCE_CHARACTERS
    check_sentences([longest])
    with pytest.raises(UserError, match="sentence 1 is longer than 1,000,000 characters: 'xxx"):
        check_sentences(["a", f"{longest}x"])
    for name, content in {
        "in.txt": f"a\n{longest}x\n\nb\nc\n",
        "in.jsonl": json.dumps({"sentences": ["a", f"{longest}x"]}) + '\n{"sentences": ["b", "c"]}',
    }.items():
        (tmp_path / name).write_text(content)
        assert "longer than 1,000,000 characters" in refusal(tmp_path / name)
        _, records = read_source(tmp_path / name, Skipping())
        assert [record["sentences"] for _, record in records] == [["b", "c"]]


def test_nesting_limit(tmp_path):
    def nested(levels):
        return f'{{"sentences": ["a", "b"], "x": {"[" * levels}{"]" * levels}}}'

    path = tmp_path / "in.jsonl"
    path.write_text(nested(jsonl.MAX_NESTING_LEVELS - 1))
    assert len(list(read_source(path)[1])) == 1
    for levels in (jsonl.MAX_NESTING_LEVELS, 900):
        path.write_text(f"{nested(levels)}\n{GOOD}")
        assert refusal(path) == f"{path}:1: nested more than 100 levels deep"
        assert len(list(read_source(path, Skipping())[1])) == 1
    path.write_text(json.dumps({"sentences": ["a"], "x": [[1]] * 1000}))  # many, but not deep
    assert len(list(read_source(path)[1])) == 1


def test_limit_of_files_that_are_read_into_memory(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"a\.json: larger than 1,000 bytes after decompression"):
        read_limited(io.BytesIO(b"x" * 1001), Path("a.json"), 1000)
    assert read_limited(io.BytesIO(b"x" * 1000), Path("a.json"), 1000) == b"x" * 1000
    monkeypatch.setattr(awards, "MAX_AWARD_BYTES", 1000)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(award("1", "x" * 1000).encode()))
    (tmp_path / "b.json").write_text(award("2"))
    assert refusal(tmp_path, "nsf-awards").endswith("larger than 1,000 bytes after decompression")
    assert [one.id for one in read("nsf-awards", tmp_path, Skipping())] == ["2"]


# Running text


def test_long_running_text_is_split_like_its_sentences(monkeypatch):
    words = random.Random(0)
    single = [f"We sort {words.randrange(10**6)} words in Fig. {k}, e.g. here." for k in range(300)]
    assert list(split_text(" ".join(single))) == single
    monkeypatch.setattr(sentences, "MAX_PIECE_CHARACTERS", 120)
    assert list(split_text(" ".join(single))) == single


@pytest.mark.parametrize("unit", ["word ", "x", "a; "])
@pytest.mark.parametrize("count", [4 * sentences.MAX_PIECE_CHARACTERS - k for k in (0, 1, 4)])
def test_sentence_longer_than_a_piece_is_not_split(unit, count):
    long = (unit * count).strip()
    assert split_text(f"It begins. Here {long} ends. It goes on.") == (
        "It begins.",
        f"Here {long} ends.",
        "It goes on.",
    )


def test_pysbd_gets_bounded_pieces(monkeypatch):
    given = []

    class Segmenter:
        def segment(self, piece):
            given.append(len(piece))
            return [piece[: len(piece) // 2], piece[len(piece) // 2 :]]

    monkeypatch.setattr(sentences, "_segmenter", Segmenter)
    text = "".join(f"{k} " for k in range(10_000)).strip()
    assert "".join("".join(split_text(text)).split()) == text.replace(" ", "")
    assert max(given) <= sentences.MAX_PIECE_CHARACTERS
    assert sum(given) < 5 * len(text)


def test_running_text_length_limit():
    some = [RawDocument("f:1", "a", text="x" * 500_001), RawDocument("f:2", "b", ("one", "two"))]
    with pytest.raises(UserError, match="f:1: running text longer than 500,000 characters"):
        list(split_running_text(some))
    assert [one.id for one in split_running_text(some, on_bad=Skipping())] == ["b"]


# Truncated files


@pytest.mark.parametrize("end", PACKERS)
@pytest.mark.parametrize("frames", [1, 3])
def test_truncated_compressed_file_is_refused(tmp_path, end, frames):
    rows = [json.dumps({"id": f"{k}", "sentences": [f"one {k}", "two"]}) for k in range(300)]
    size = len(rows) // frames
    packed = [
        PACKERS[end]("".join(f"{row}\n" for row in rows[start : start + size]).encode())
        for start in range(0, len(rows), size)
    ]
    content, path = b"".join(packed), tmp_path / f"in.jsonl{end}"
    ends = {0} | {sum(map(len, packed[:k])) for k in range(1, frames + 1)}
    path.write_bytes(content)
    assert len(read("jsonl", path)) == 300
    cuts = {len(content) * k // 50 for k in range(50)} | {len(content) - 1, 1}
    for cut in sorted(cuts - (ends - {0})):  # a cut between two frames cannot be detected
        path.write_bytes(content[:cut])
        for form in (None, "jsonl"):
            assert refusal(path, form).startswith(f"{path}: "), cut


def test_damage_at_the_end_of_compressed_text_is_not_skipped(tmp_path):
    path = tmp_path / "story.txt.gz"
    content = bytearray(gzip.compress(b"one\ntwo\n\nthree\nfour"))
    content[-8] ^= 1  # of the CRC-32, which gzip checks at the end of the last document
    path.write_bytes(content)
    with pytest.raises(UserError, match="CRC check failed"):
        list(read_source(path, Skipping())[1])


def test_skippable_zst_frames_are_ignored(tmp_path):
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"info"
    first, second = (zstandard.compress(f"{word}\n".encode()) for word in ("a", "b"))
    path = tmp_path / "in.txt.zst"
    path.write_bytes(skippable + first + skippable + second + skippable)
    assert list(read_lines(path)) == ["a\n", "b\n"]


def test_zst_is_decompressed_in_small_steps(tmp_path):
    path = tmp_path / "zeros.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(bytes(300_000_000)))
    tracemalloc.start()
    try:
        with open_binary(path) as file:
            assert file.read(1000) == bytes(1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 80_000_000


# Invalid records


BAD_RECORDS = {
    "a long integer": b'{"sentences": ["a"], "n": ' + b"9" * 5000 + b"}",
    "not UTF-8": b'{"sentences": ["\xff", "a"]}',
    "too deep to parse": b'{"x": ' + b"[" * 100_000,
    "a long value": b'{"sentences": "' + b"x" * 100_000 + b'"}',
    "no object": b'["' + b"x" * 100_000 + b'"]',
    "a long id": b'{"id": "i", "sentences": [' + b'"", ' * 10_000 + b'""]}',
}


@pytest.mark.parametrize("kind", BAD_RECORDS)
def test_invalid_jsonl_line_is_skipped(tmp_path, kind):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join([GOOD.encode(), BAD_RECORDS[kind], GOOD.encode()]))
    assert refusal(path).startswith(f"{path}:2: ")
    skipping = Skipping()
    assert [where for where, _ in read_source(path, skipping)[1]] == [f"{path}:1", f"{path}:3"]
    assert skipping.count == 1


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**31 - 1, 3], pa.date32()),
        pa.array([1, -(2**62), 3], pa.timestamp("ms")),
        pa.array([1, 2**62, 3], pa.timestamp("us")),
        pa.array([b"a", b"\xff", b"c"]).view(pa.binary()).cast(pa.string(), safe=False),
    ],
)
def test_parquet_value_without_python_equivalent_is_skipped(tmp_path, column):
    path = tmp_path / "in.parquet"
    texts = [["a", "b"], ["c", "d"], ["e", "f"]]
    pq.write_table(pa.table({"sentences": texts, "when": column}), path)
    assert refusal(path).startswith(f"{path}: row 2: column 'when': ")
    for found in (
        [record["sentences"] for _, record in read_source(path, Skipping())[1]],
        [list(one.sentences) for one in read("parquet", path, Skipping())],
        [list(one.sentences) for one in read("dataset", tmp_path, Skipping())],
    ):
        assert found == [texts[0], texts[2]]


def test_parquet_rows_are_numbered_across_batches(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"k": range(1, 3001)}), path)
    assert all(where == f"{path}: row {row['k']}" for where, row in read_parquet_rows(path))


def test_damaged_parquet_gives_a_one_line_error(tmp_path):
    path, draw = tmp_path / "in.parquet", random.Random(0)
    rows = [[f"one {k}", f"two {k}"] for k in range(2000)]
    pq.write_table(pa.table({"sentences": rows}), path, write_page_checksum=True)
    content = path.read_bytes()
    cuts = [content[: draw.randrange(len(content))] for _ in range(30)]
    flips = []
    for _ in range(100):
        damaged = bytearray(content)
        damaged[draw.randrange(4, len(content))] ^= 1 << draw.randrange(8)
        flips.append(bytes(damaged))
    for damaged in (*cuts, *flips):
        path.write_bytes(damaged)
        try:
            found = [record["sentences"] for _, record in read_source(path)[1]]
        except UserError:
            assert refusal(path).startswith(f"{path}: ")
        else:
            assert found == rows  # the bit has no effect


# CSV

HEAD = "id,sentence1,sentence2\n"
BAD_ROWS = {
    "a quote that is never closed": '1,"A.,B.\n',
    "a quote that is closed too soon": '1,"A." he said,B.\n',
    "too many cells": "1,A.,B.,C.\n",
    "a cell that is too long": f"1,{'x' * 2001},B.\n",
    "a cell that is not UTF-8": "1,\udcff,B.\n",
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_invalid_csv_row_does_not_affect_other_rows(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(csv_rows, "MAX_CELL_CHARACTERS", 2000)
    good = "".join(f"g{k},A {k}.,B {k}.\n" for k in range(1000))
    path = tmp_path / "in.csv"
    content = f"{HEAD}0,A.,B.\n{BAD_ROWS[kind]}{good}"
    path.write_bytes(content.encode(errors="surrogateescape"))
    assert refusal(path, "csv").startswith(f"{path}:3: ")
    skipping = Skipping()
    found = read("csv", path, skipping)
    assert [one.id for one in found] == ["0", *(f"g{k}" for k in range(1000))]
    assert found[-1].where == f"{path}:1003"
    assert skipping.count == 1


def test_csv_row_with_line_breaks_and_long_cells(tmp_path):
    rows = [["id", "sentence1", "sentence2"], ["a", 'He\nsaid "no".', "x" * 200_000], ["b", "", ""]]
    path = tmp_path / "in.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    found = read("csv", path)
    assert [one.sentences for one in found] == [tuple(rows[1][1:]), ()]
    assert [one.where for one in found] == [f"{path}:2", f"{path}:4"]


@pytest.mark.parametrize("limit", ["MAX_ROW_LINES", "MAX_ROW_CHARACTERS"])
def test_csv_row_size_limit(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(csv_rows, limit, 50)
    path = tmp_path / "in.csv"
    path.write_text(f'{HEAD}1,"' + "\n" * 60 + '",B.\n2,A.,B.\n')
    assert refusal(path, "csv").startswith(f"{path}:2: not CSV: a row with more than ")
    assert [one.id for one in read("csv", path, Skipping())][-1] == "2"


def test_csv_without_a_valid_header_is_refused(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text('id,"sentence1,sentence2\n1,A.,B.\n')
    with pytest.raises(UserError, match=r"in\.csv:1: not CSV: unexpected end of data"):
        read("csv", path, Skipping())


def test_column_with_a_long_number_is_not_a_sentence(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(f"id,sentence2,sentence1,sentence{'9' * 5000}\n1,A.,B.,C.\n")
    assert [one.sentences for one in read("csv", path)] == [("B.", "A.")]


# Archives


def award(name, narration="We sort."):
    return json.dumps({"awd_id": name, "awd_abstract_narration": narration})


@pytest.mark.parametrize("method", [ZIP_DEFLATED, ZIP_LZMA])
def test_damaged_zip_member_does_not_affect_other_members(tmp_path, method):
    path, draw = tmp_path / "2015.zip", random.Random(0)
    with ZipFile(path, "w", method) as archive:
        for k in range(3):
            text = " ".join(f"word{draw.randrange(10**6)}" for _ in range(100))
            archive.writestr(f"{k}.json", award(f"{k}", text))
        member = archive.infolist()[1]
        begin = member.header_offset + 30 + len(member.filename)
    content = path.read_bytes()
    everything = read("nsf-awards", path)
    for place in range(begin, begin + member.compress_size, 7):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        skipping = Skipping()
        found = read("nsf-awards", path, skipping)
        if skipping.count:
            assert found == [everything[0], everything[2]]
            assert refusal(path, "nsf-awards").startswith(
                f"{path}: 1.json: damaged, or not a zip file: "
            )
        else:
            assert found == everything  # the bit has no effect


@pytest.mark.parametrize("method", [ZIP_DEFLATED, ZIP_LZMA, ZIP_BZIP2])
def test_zip_member_size_limit(tmp_path, monkeypatch, method):
    monkeypatch.setattr(awards, "MAX_AWARD_BYTES", 100_000)
    path = tmp_path / "2015.zip"
    with ZipFile(path, "w", method) as archive:
        archive.writestr("big.json", award("big", "x" * 50_000_000))
    with ZipFile(path, "a", ZIP_DEFLATED) as archive:
        archive.writestr("2.json", award("2"))
    tracemalloc.start()
    try:
        message = refusal(path, "nsf-awards")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    wanted = {ZIP_BZIP2: "unsupported compression: only deflate and LZMA are read"}
    assert message == f"{path}: big.json: " + wanted.get(
        method, "larger than 100,000 bytes after decompression"
    )
    assert peak < 100_000_000
    assert [one.id for one in read("nsf-awards", path, Skipping())] == ["2"]


def test_long_member_name_is_shortened(tmp_path):
    path = tmp_path / "2015.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("\n" * 300 + "x" * 60_000 + ".json", "{")
    assert ": not JSON: " in refusal(path, "nsf-awards")


def paper(number, content="We sort."):
    return f'<paper id="{number}"><abstract>{content}</abstract></paper>'


DOCTYPE = '<!DOCTYPE a [<!ENTITY a "' + "ha" * 1000 + '">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_with_a_doctype_is_refused(tmp_path, encoding):
    top = f'<?xml version="1.0" encoding="{encoding}"?>{DOCTYPE}'
    award = f"{top}<rootTag><Award><AwardID>1</AwardID></Award>{'&a;' * 100}</rootTag>"
    papers = f'{top}<collection id="2020.x"><volume id="1">{paper(1, "&a;")}</volume></collection>'
    for form, content in (("nsf-awards", award), ("acl-anthology", papers)):
        path = tmp_path / f"{form}.xml"
        path.write_bytes(content.encode(encoding))
        assert (
            refusal(path, form) == f"{path}: XML with a DOCTYPE is not allowed: remove the DOCTYPE"
        )


def test_paper_size_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(anthology, "MAX_PAPER_BYTES", 50_000)
    top = '<collection id="2020.x"><volume id="1">'
    path = tmp_path / "2020.x.xml.gz"
    path.write_bytes(gzip.compress((top + "".join(map(paper, range(3000)))).encode() + b"<x"))
    assert ": not XML: " in refusal(path, "acl-anthology")  # all papers were read before the error
    path.write_bytes(gzip.compress((top + paper(1) + paper(2, "x" * 10**6)).encode()))
    assert refusal(path, "acl-anthology") == f"{path}: an XML element with more than 50,000 bytes"
    assert [one.id for one in read("acl-anthology", path, Skipping())] == ["2020.x-1.1"]


# Files outside the folder


@pytest.fixture
def secret(tmp_path):
    """A file outside the folder of the corpus."""
    path = tmp_path / "secret.txt"
    path.write_text("a secret .\nanother .\n")
    return path


@pytest.fixture
def corpus(tmp_path):
    """A corpus in the layout of aan, neurips and nsf."""
    folder = tmp_path / "corpus"
    (folder / "split").mkdir(parents=True)
    (folder / "txt_tokenized").mkdir()
    (folder / "txt_tokenized" / "good.txt").write_text("we sort .\nit works .\n")
    return folder


@pytest.mark.parametrize("form", ["aan", "neurips", "nsf"])
@pytest.mark.parametrize("how", ["relative", "absolute", "without its end", "a symbolic link"])
def test_list_cannot_name_a_file_outside(corpus, secret, form, how):
    link = corpus / "txt_tokenized" / "link.txt"
    link.symlink_to(secret)
    name = {
        "relative": "../../secret.txt",
        "absolute": f"{secret}",
        "without its end": f"{secret.with_suffix('')}",
        "a symbolic link": "link.txt",
    }[how]
    (corpus / "split" / "train.txt").write_text(f"{name}\ngood.txt\n")
    path = corpus / "split" / "train.txt"
    assert refusal(corpus, form).startswith(f"{path}:1: ")
    (found,) = read(form, corpus, Skipping())
    assert (found.id, found.sentences) == ("good", ("we sort .", "it works ."))


def test_list_cannot_link_to_a_file_outside(corpus, secret):
    secret.write_text("good.txt\n")
    (corpus / "split" / "train.txt").symlink_to(secret)
    assert "refers to a file outside" in refusal(corpus, "aan")


def test_text_folder_cannot_link_outside(corpus, secret, tmp_path):
    (corpus / "txt_tokenized").rename(tmp_path / "elsewhere")
    (corpus / "txt_tokenized").symlink_to(tmp_path / "elsewhere")
    (corpus / "split").rmdir()
    assert "refers to a file outside" in refusal(corpus, "aan")


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 3000, "a\0b", "x" * 100_000])
def test_impossible_file_name_is_an_invalid_record(corpus, name):
    (corpus / "split" / "train.txt").write_text(f"{name}\ngood.txt\n")
    assert refusal(corpus, "aan").endswith(": no such file in txt_tokenized")
    assert len(read("aan", corpus, Skipping())) == 1


def test_links_within_the_folder_are_followed(corpus, tmp_path):
    (corpus / "split" / "train.txt").write_text("good.txt\nlink.txt\n")
    (corpus / "txt_tokenized" / "link.txt").symlink_to("good.txt")
    (tmp_path / "here").symlink_to(corpus)
    assert [one.id for one in read("aan", tmp_path / "here")] == ["good", "link"]


def test_file_cannot_link_outside(tmp_path, secret):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "train.txt").symlink_to(secret)
    assert "refers to a file outside" in refusal(tmp_path / "corpus", "text")


@pytest.mark.parametrize("how", ["relative", "absolute", "link", "inside"])
def test_dataset_cannot_name_a_file_outside(tmp_path, how):
    for folder in ("out", "in"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.jsonl").write_text(GOOD)
    named = {
        "relative": "../out/x.jsonl",
        "absolute": f"{tmp_path}/out/x.jsonl",
        "link": "y.jsonl",
        "inside": "x.jsonl",
    }
    (tmp_path / "in" / "y.jsonl").symlink_to(tmp_path / "out" / "x.jsonl")
    (tmp_path / "in" / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n"
        f"  - split: train\n    path: {named[how]}\n---\n"
    )
    if how == "inside":
        assert [one.sentences for one in read("dataset", tmp_path / "in")] == [("one", "two")]
    else:
        message = refusal(tmp_path / "in", "dataset")
        assert "refers to a file outside" in message
        assert "not a dataset" not in message


def test_saved_dataset_cannot_name_a_file_outside(tmp_path):
    for name in ("in", "out"):
        datasets.Dataset.from_list([{"sentences": ["a", "b"]}]).save_to_disk(str(tmp_path / name))
    state = tmp_path / "in" / "state.json"
    facts = json.loads(state.read_text())
    facts["_data_files"] = [{"filename": "../out/data-00000-of-00001.arrow"}]
    state.write_text(json.dumps(facts))
    assert "refers to a file outside" in refusal(tmp_path / "in", "dataset")


@pytest.mark.parametrize("end", PACKERS)
def test_truncated_dataset_is_refused(tmp_path, end):
    rows = "".join(f'{{"sentences": ["{k}", "b"]}}\n' for k in range(2000)).encode()
    packed = [PACKERS[end](part) for part in (rows, rows)]
    path = tmp_path / f"train.jsonl{end}"
    path.write_bytes(packed[0] + packed[1])
    assert len(read("dataset", tmp_path)) == 4000
    path.write_bytes(packed[0] + packed[1][:6])
    assert refusal(tmp_path, "dataset").startswith(f"{tmp_path}")


def test_damaged_dataset_files_give_a_one_line_error(tmp_path):
    for name, content in {
        "csv": b'a,b\n1,2,3,4\n"x',
        "jsonl": b'{"sentences": [1]}\n{',
        "parquet": b"PAR1xx",
        "txt": b"\xff",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / f"train.{name}").write_bytes(content)
        refusal(tmp_path / name, "dataset")


def test_long_order_is_shortened_in_the_error():
    with pytest.raises(UserError) as caught:
        check_order([7] * 100_000, 100_000)
    assert len(str(caught.value)) < 2 * MAX_QUOTED_CHARACTERS


LONG = "n" * 100_000


@pytest.mark.parametrize(
    "form, name, content",
    [
        ("jsonl", "a.jsonl", json.dumps({"id": "1", LONG: 1})),
        ("csv", "a.csv", f"id,{LONG}\n1,a\n"),
        ("rocstory", "ROCStories.csv", f"id,{LONG}\n1,a\n"),
        ("nsf-awards", "a.json", json.dumps({"awd_id": [LONG]})),
        ("nsf-awards", "a.json", json.dumps({"awd_id": "1", "awd_abstract_narration": [LONG]})),
        ("nsf-awards", "a.json", json.dumps([LONG])),
        ("nsf-awards", "a.xml", f"<rootTag>&{LONG};</rootTag>"),
        ("acl-anthology", "a.xml", f"<rootTag>&{LONG};</rootTag>"),
        (
            "acl-anthology",
            "a.xml",
            f'<collection id="{LONG}"><volume id="{LONG}">{paper(LONG)}</volume></collection>',
        ),
        ("sind", "a.story-in-sequence.json", json.dumps({"annotations": [[LONG]]})),
        (
            "sind",
            "a.story-in-sequence.json",
            json.dumps({"annotations": [[{"story_id": f"{LONG}\n", "original_text": LONG}]]}),
        ),
        ("aan", "test.txt", f"{LONG}\t{LONG}\n"),
    ],
)
def test_errors_quote_little_of_the_input(tmp_path, form, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError) as caught:
        read(form, tmp_path)
    message = str(caught.value)
    assert message.isprintable()
    assert message.count("n" * 200) == 0, message
    assert len(message) < len(str(tmp_path)) + 4 * MAX_QUOTED_CHARACTERS
