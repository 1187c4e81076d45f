"""Readers of published corpora in their original layouts."""

import gzip
import json
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import zstandard

from bert4so.data.readers.abstracts import read_abstracts
from bert4so.data.readers.anthology import anthology_id, read_anthology
from bert4so.data.readers.awards import read_awards
from bert4so.data.readers.raw_document import Columns, RawDocument, Reader
from bert4so.data.readers.rocstories import read_rocstories
from bert4so.data.readers.tabular import read_csv
from bert4so.data.readers.vist import read_vist
from bert4so.errors import UserError
from bert4so.io.files import Files
from bert4so.io.on_error import Skipping, stop


def photo(story, order, original, **changes):
    """An annotation of VIST, its fields as in test.story-in-sequence.json."""
    fields = {
        "original_text": original,
        "album_id": "44277",
        "photo_flickr_id": "1741642",
        "setting": "first-2-pick-and-tell",
        "worker_id": "FJROI8NWDRIPAM1",
        "story_id": story,
        "tier": "story-in-sequence",
        "worker_arranged_photo_order": order,
        "text": original.lower() if original else original,
        "storylet_id": f"{story}{order}",
    }
    return [{**fields, **changes}]


def vist(*annotations):
    whole = {"images": [{"id": "1741642"}], "info": {}, "albums": [], "annotations": annotations}
    return json.dumps(whole)


def award_xml(name, abstract):
    return f"""<?xml version="1.0" encoding="UTF-8"?>

<rootTag>
  <Award>
    <AwardTitle>A workshop</AwardTitle>
    <AwardAmount>23408</AwardAmount>
    <AbstractNarration>{abstract}</AbstractNarration>
    <ARRAAmount/>
    <AwardID>{name}</AwardID>
  </Award>
</rootTag>
"""


def award_json(name, abstract):
    return json.dumps(
        {"awd_id": name, "awd_titl_txt": "A workshop", "awd_abstract_narration": abstract}
    )


ROC_NAMES = "storyid,storytitle,sentence1,sentence2,sentence3,sentence4,sentence5\r\n"
ANTHOLOGY = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="2020.cl">
  <volume id="1" type="journal">
    <meta>
      <booktitle>Computational Linguistics, Volume 46</booktitle>
      <year>2020</year>
    </meta>
    <frontmatter><bibkey>cl-2020-1</bibkey></frontmatter>
    <paper id="1">
      <title>On <fixed-case>X</fixed-case>iao<fixed-case>I</fixed-case>ce</title>
      <abstract>We <b>sort</b> <tex-math>n^2</tex-math> words of <fixed-case>X</fixed-case>iao &amp;
        more. See <url>https://x.org</url>.</abstract>
    </paper>
    <paper id="2">
      <title>No abstract</title>
    </paper>
  </volume>
  <volume id="2" type="journal">
    <paper id="1"><abstract>Here we <i>end</i>.</abstract></paper>
  </volume>
  <event id="cl-2020"><colocated><volume-id>2020.cl-1</volume-id></colocated></event>
</collection>
"""


@dataclass(frozen=True)
class Form:
    """A corpus in one of its layouts.

    documents: per document its file, the rest of `where`, and the other fields.
    broken:    a file to add or replace, its content, the expected error message, and the number of
               documents that remain.
    """

    reader: Reader
    files: dict[str, str]
    documents: list[tuple[str, str, str, tuple[str, ...], str, str | None]]
    broken: tuple[str, str, str, int]


FORMS = {
    "abstracts, a line each": Form(
        read_abstracts,
        {
            "nips/train.lower": "we sort . <eos> it works .\n\nwe prove it .\n",
            "nips/val.lower": "one . <eos> two . <eos> three .\n",
            "nips/test.lower": "last .\n",
            "nips/train.eg": "word:0-1\n",
        },
        [
            ("nips/test.lower", ":1", "test-1", ("last .",), "", "test"),
            ("nips/train.lower", ":1", "train-1", ("we sort .", "it works ."), "", "train"),
            ("nips/train.lower", ":3", "train-3", ("we prove it .",), "", "train"),
            ("nips/val.lower", ":1", "val-1", ("one .", "two .", "three ."), "", "valid"),
        ],
        (
            "nips/test.tsv",
            "one .\ttwo .\n",
            ":1: sentences must be separated by <eos> (got tabs)",
            4,
        ),
    ),
    "abstracts, a line each, in .tsv": Form(
        read_abstracts,
        {
            "train.tsv": "my dad . <eos> the grill .\n",
            "dev.tsv": "the end .\n",
            "README.txt": "no abstract at all\n",
        },
        [
            ("dev.tsv", ":1", "dev-1", ("the end .",), "", "valid"),
            ("train.tsv", ":1", "train-1", ("my dad .", "the grill ."), "", "train"),
        ],
        ("test.tsv", "one .\ttwo .\n", ":1: sentences must be separated by <eos> (got tabs)", 2),
    ),
    "abstracts, a file each, listed by year": Form(
        read_abstracts,
        {
            "split/2013le_papers": "12\n7\n",
            "split/2014_papers": "30\n",
            "split/2015_papers": "41\n\n",
            "txt_tokenized/a12.txt": "we sort .\nit works .\n",
            "txt_tokenized/a30.txt": "a year later .\n\n",
            "txt_tokenized/a41.txt": "and another .\n",
            "txt_tokenized/a7.txt": "first .\nsecond .\nthird .\n",
            "txt_tokenized/a99.txt": "in no list .\n",
        },
        [
            ("txt_tokenized/a12.txt", "", "12", ("we sort .", "it works ."), "", "train"),
            ("txt_tokenized/a7.txt", "", "7", ("first .", "second .", "third ."), "", "train"),
            ("txt_tokenized/a30.txt", "", "30", ("a year later .",), "", "valid"),
            ("txt_tokenized/a41.txt", "", "41", ("and another .",), "", "test"),
        ],
        ("txt_tokenized/a7.txt", " \n", ": contains no sentences: write one per line", 3),
    ),
    "abstracts, a file each, listed by split": Form(
        read_abstracts,
        {
            "split/train": "P05-1001.txt\n",
            "split/valid": "P11-1002.txt\n",
            "split/test": "P12-1003.txt\n",
            "split/.DS_Store": "not a list\n",
            "txt_tokenized/P05-1001.txt": "We parse .\nIt works .\n",
            "txt_tokenized/P11-1002.txt": "We tag .\n",
            "txt_tokenized/P12-1003.txt": "We sort .\n",
        },
        [
            ("txt_tokenized/P12-1003.txt", "", "P12-1003", ("We sort .",), "", "test"),
            (
                "txt_tokenized/P05-1001.txt",
                "",
                "P05-1001",
                ("We parse .", "It works ."),
                "",
                "train",
            ),
            ("txt_tokenized/P11-1002.txt", "", "P11-1002", ("We tag .",), "", "valid"),
        ],
        ("split/test", "P12-1003.txt\nP13-1.txt\n", ":2: P13-1.txt: no such file in txt_tokeni", 3),
    ),
    "abstracts, a file each, not listed": Form(
        read_abstracts,
        {"txt_tokenized/a1.txt": "one .\ntwo .\n", "txt_tokenized/a2": "three .\n"},
        [
            ("txt_tokenized/a1.txt", "", "a1", ("one .", "two ."), "", None),
            ("txt_tokenized/a2", "", "a2", ("three .",), "", None),
        ],
        ("txt_tokenized/a2", "", ": contains no sentences: write one per line", 1),
    ),
    "VIST": Form(
        read_vist,
        {
            "sis/train.story-in-sequence.json": vist(
                photo("45530", 1, "Tony sold a hat."),
                photo("7", 0, "It rained."),
                photo("45530", 2, "All went home!"),
                photo("45530", 0, "The local parish holds a craft show."),
            ),
            "sis/val.story-in-sequence.json": vist(photo("9", 10, "B."), photo("9", 9, "A.")),
            "dii/val.description-in-isolation.json": "{}",
        },
        [
            (
                "sis/train.story-in-sequence.json",
                ": story 45530",
                "45530",
                ("The local parish holds a craft show.", "Tony sold a hat.", "All went home!"),
                "",
                "train",
            ),
            ("sis/train.story-in-sequence.json", ": story 7", "7", ("It rained.",), "", "train"),
            ("sis/val.story-in-sequence.json", ": story 9", "9", ("A.", "B."), "", "valid"),
        ],
        ("sis/train.story-in-sequence.json", '{"annotations": [', ": not JSON: ", 1),
    ),
    "ROCStories": Form(
        read_rocstories,
        {
            "ROCStories_winter2017 - ROCStories_winter2017.csv": ROC_NAMES
            + 'a-1,"David, late","He said ""no"".",Two.,"Three, or so.",Four.,Five.\r\n'
            + "a-2,Title,A.,B.,C.,D.,E.\r\n",
            "ROCStories__spring2016 - ROCStories_spring2016.csv": ROC_NAMES
            + "b-1,Title,1.,2.,3.,4.,5.\r\n",
            "cloze_test_val__spring2016 - cloze_test_ALL_val.csv": "InputStoryid\r\nc-1\r\n",
        },
        [
            (
                "ROCStories__spring2016 - ROCStories_spring2016.csv",
                ":2",
                "b-1",
                ("1.", "2.", "3.", "4.", "5."),
                "",
                None,
            ),
            (
                "ROCStories_winter2017 - ROCStories_winter2017.csv",
                ":2",
                "a-1",
                ('He said "no".', "Two.", "Three, or so.", "Four.", "Five."),
                "",
                None,
            ),
            (
                "ROCStories_winter2017 - ROCStories_winter2017.csv",
                ":3",
                "a-2",
                ("A.", "B.", "C.", "D.", "E."),
                "",
                None,
            ),
        ],
        (
            "ROCStories__spring2016 - ROCStories_spring2016.csv",
            ROC_NAMES + 'b-1,T,"1." he said,2.,3.,4.,5.\r\nb-2,T,1.,2.,3.,4.,5.\r\n',
            ":2: not CSV: ",
            3,
        ),
    ),
    "awards": Form(
        read_awards,
        {
            "2015/1500007.xml": award_xml(
                "1500007",
                "We sort. &lt;br/&gt;&lt;br/&gt;Merit:&lt;br/&gt;It&amp;#8217;s n &lt; 3.",
            ),
            "2015/1500035.xml": award_xml("1500035", ""),
            "2024/2400001.json": award_json("2400001", "We prove&lt;br&gt; <BR />R&amp;D.\n\nEnd."),
            "2024/2400002.json": award_json("2400002", None),
        },
        [
            ("2015/1500007.xml", "", "1500007", (), "We sort. Merit: It’s n < 3.", None),
            ("2024/2400001.json", "", "2400001", (), "We prove R&D. End.", None),
        ],
        ("2015/1500041.xml", "<rootTag><Award>", ": not XML: no element found", 2),
    ),
    "awards, in JSON": Form(
        read_awards,
        {"2400001.json": award_json("2400001", "We sort."), "notes.txt": "none\n"},
        [("2400001.json", "", "2400001", (), "We sort.", None)],
        ("2400003.json", '{"awd_id": ', ": not JSON: ", 1),
    ),
    "Anthology": Form(
        read_anthology,
        {"data/xml/2020.cl.xml": ANTHOLOGY, "data/xml/schema.rnc": "start = Collection"},
        [
            (
                "data/xml/2020.cl.xml",
                ": 2020.cl-1.1",
                "2020.cl-1.1",
                (),
                "We sort n^2 words of Xiao & more. See https://x.org.",
                None,
            ),
            ("data/xml/2020.cl.xml", ": 2020.cl-2.1", "2020.cl-2.1", (), "Here we end.", None),
        ],
        ("data/xml/2019.cl.xml", ANTHOLOGY.replace("2020", "2019")[:-20], ": not XML: ", 4),
    ),
}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


PACKERS = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


def write(folder: Path, files: dict[str, str], end: str = "") -> None:
    for name, content in files.items():
        path = folder / f"{name}{end}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PACKERS[end](content.encode()))


def read(form: Form, path: Path, on_bad=stop) -> list[RawDocument]:
    return list(form.reader(Files(path), Columns(), on_bad))


def expected(form: Form, folder: Path, end: str = "") -> list[RawDocument]:
    return [
        RawDocument(f"{folder / name}{end}{rest}", *fields)
        for name, rest, *fields in form.documents
    ]


@pytest.mark.parametrize("end", PACKERS)
def test_folder_is_read(form, tmp_path, end):
    write(tmp_path, form.files, end)
    assert read(form, tmp_path) == expected(form, tmp_path, end)


def test_on_bytes_read_counts_all_bytes(form, tmp_path):
    write(tmp_path, form.files)
    byte_counts = []
    found = list(form.reader(Files(tmp_path, byte_counts.append), Columns(), stop))
    names = {name for name, *_ in form.documents}
    assert len(found) == len(form.documents)
    assert sum(byte_counts) >= sum((tmp_path / name).stat().st_size for name in names)


def test_broken_file_gives_a_one_line_error(form, tmp_path):
    name, content, message, _ = form.broken
    write(tmp_path, {**form.files, name: content})
    with pytest.raises(UserError) as error:
        read(form, tmp_path)
    assert str(error.value).startswith(f"{tmp_path / name}{message}")
    assert "\n" not in str(error.value)


def test_broken_file_can_be_skipped(form, tmp_path):
    name, content, _, left = form.broken
    write(tmp_path, {**form.files, name: content})
    skipping = Skipping()
    assert len(read(form, tmp_path, skipping)) == left
    assert skipping.count == 1


def test_missing_file_gives_an_error(form, tmp_path):
    with pytest.raises(UserError, match=f"{tmp_path}: contains no files named "):
        read(form, tmp_path)
    path = tmp_path / "missing.xml"
    with pytest.raises(UserError) as error:
        read(form, path)
    assert str(error.value) == f"{path}: No such file or directory"


def test_truncated_file_gives_an_error(form, tmp_path):
    names = [name for name, *_ in form.documents]
    whole = gzip.compress(form.files[names[0]].encode())
    write(tmp_path, {name: form.files[name] for name in form.files if name != names[0]})
    path = tmp_path / f"{names[0]}.gz"
    path.write_bytes(whole[:-12])
    with pytest.raises(UserError) as error:
        read(form, tmp_path)
    assert str(error.value).startswith(f"{path}: damaged, or not UTF-8 text: Compressed file ended")


def test_single_file_may_have_any_name(tmp_path):
    write(tmp_path, {"nips": "a . <eos> b .\n", "mine.csv": ROC_NAMES + "1,T,A,B,C,D,E\n"})
    lines = list(read_abstracts(Files(tmp_path / "nips"), Columns(), stop))
    assert lines == [RawDocument(f"{tmp_path}/nips:1", "nips-1", ("a .", "b ."))]
    rows = list(read_rocstories(Files(tmp_path / "mine.csv"), Columns(), stop))
    assert rows == [RawDocument(f"{tmp_path}/mine.csv:2", "1", ("A", "B", "C", "D", "E"))]


BROKEN = {
    "a story without an order": (
        read_vist,
        "a.story-in-sequence.json",
        vist(photo("3", None, "A."), photo("4", 0, "B.")),
        ": story 3: worker_arranged_photo_order must be a different number per sentence (got None)",
    ),
    "a story with an order twice": (
        read_vist,
        "a.story-in-sequence.json",
        vist(photo("3", 1, "A."), photo("4", 0, "B."), photo("3", 1, "C.")),
        ": story 3: worker_arranged_photo_order must be a different number per sentence (got 1)",
    ),
    "a story with a gap": (
        read_vist,
        "a.story-in-sequence.json",
        vist(photo("3", 1, "A."), photo("4", 0, "B."), photo("3", 0, None)),
        ": story 3: original_text must be a string (got None)",
    ),
    "a sentence of no story": (
        read_vist,
        "a.story-in-sequence.json",
        vist(photo(3, 0, "A."), photo("4", 0, "B.")),
        ": annotation 0 must be a list of one object with a story_id (got [{'original_text': ",
    ),
    "a row too short": (
        read_rocstories,
        "ROCStories.csv",
        ROC_NAMES + "1,T,A,B,C,D\n\n2,T,A,B,C,D,E\n",
        ":2: a row must have 7 cells (got 6)",
    ),
    "a row too long": (
        read_rocstories,
        "ROCStories.csv",
        ROC_NAMES + "1,T,A,B,C,D,E,F\n2,T,A,B,C,D,E\n",
        ":2: a row must have 7 cells (got 8)",
    ),
    "a quote without an end": (
        read_rocstories,
        "ROCStories.csv",
        ROC_NAMES + '2,T,A,B,C,D,E\n1,T,A,B,C,D,"E\n',
        ":3: not CSV: unexpected end of data",
    ),
    "a comma without quotes": (
        read_csv,
        "a.csv",
        "id,sentence1,sentence2\n1,Well, she left.,He stayed.\n2,A.,B.\n",
        ":2: a row must have 3 cells (got 4)",
    ),
    "a paper without an id": (
        read_anthology,
        "P18.xml",
        '<collection id="P18"><volume id="1"><paper><abstract>A.</abstract></paper>'
        '<paper id="2"><abstract>B.</abstract></paper></volume></collection>',
        ': collection "P18", volume "1", paper "": ids must not be empty',
    ),
    "an old paper whose id is no number": (
        read_anthology,
        "P18.xml",
        '<collection id="P18"><volume id="1"><paper id="x"><abstract>A.</abstract></paper>'
        '<paper id="2"><abstract>B.</abstract></paper></volume></collection>',
        ': collection "P18", volume "1", paper "x": the ids of volume and paper must be numbers',
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_invalid_record_is_raised_or_skipped(tmp_path, case):
    reader, name, content, message = BROKEN[case]
    write(tmp_path, {name: content})
    with pytest.raises(UserError) as error:
        list(reader(Files(tmp_path), Columns(), stop))
    assert str(error.value).startswith(f"{tmp_path / name}{message}")
    skipping = Skipping()
    assert len(list(reader(Files(tmp_path), Columns(), skipping))) == 1
    assert skipping.count == 1


@pytest.mark.parametrize(
    "reader, name, content, message",
    [
        (read_vist, "a.story-in-sequence.json", "[]", ': contains no list "annotations"'),
        (read_vist, "a.story-in-sequence.json", "[" * 10**5, ": not JSON: "),
        (read_vist, "a.story-in-sequence.json", "1" * 10**4, ": not JSON: "),
        (read_rocstories, "ROCStories.csv", "id,text\n1,A\n", ":1: the columns must include stor"),
        (read_awards, "a.xml", "<rootTag/>", ": contains no <Award>"),
        (read_awards, "a.xml", award_xml("", "A."), ": the award's id must be a string (got '')"),
        (read_awards, "a.xml", "<?xml version='1.0' encoding='x'?><a/>", ": not XML: unknown enc"),
        (read_awards, "a.json", "[1]", ": must contain a JSON object (got [1])"),
        (read_awards, "a.json", award_json(3, "A."), ": the award's id must be a string (got 3)"),
        (
            read_awards,
            "a.json",
            award_json("3", 4),
            ": the award's abstract must be a string (got 4)",
        ),
        (read_awards, "a.zip", "PK", ": damaged, or not a zip file: File is not a zip file"),
        (read_anthology, "a.xml", "<?xml version='1.0' encoding='x'?><a/>", ": not XML: unknown"),
        (read_anthology, "a.xml", "", ": not XML: no element found"),
    ],
)
def test_file_in_another_format_gives_an_error(tmp_path, reader, name, content, message):
    write(tmp_path, {name: content})
    with pytest.raises(UserError) as error:
        list(reader(Files(tmp_path), Columns(), stop))
    assert str(error.value).startswith(f"{tmp_path / name}{message}")
    assert list(reader(Files(tmp_path), Columns(), Skipping())) == []


def test_single_award_with_another_suffix_is_refused(tmp_path):
    write(tmp_path, {"award.txt": "A."})
    with pytest.raises(
        UserError, match=r"award\.txt: the name must end in \.xml, \.json or \.zip \(got '\.txt'\)"
    ):
        list(read_awards(Files(tmp_path / "award.txt"), Columns(), stop))


@pytest.mark.parametrize("reader", [read_awards, read_anthology])
def test_external_entities_are_refused(tmp_path, reader):
    (tmp_path / "secret").write_text("a secret")
    entity = f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
    award = award_xml("1", "We &x;.").replace("\n\n", f"\n{entity}\n", 1)
    paper = ANTHOLOGY.replace("\n", f"\n{entity}\n", 1).replace("end", "&x;")
    write(tmp_path, {"a.xml": award if reader is read_awards else paper})
    with pytest.raises(UserError, match="XML with a DOCTYPE is not allowed"):
        list(reader(Files(tmp_path), Columns(), stop))


def test_awards_are_read_from_a_zip_file(tmp_path):
    path = tmp_path / "2015.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("2015/1500041.xml", award_xml("1500041", "The first."))
        archive.writestr("2015/1500007.json", award_json("1500007", "The second."))
        archive.writestr("2015/1500008.xml", "<rootTag>")
        archive.writestr("2015/schema.xsd", "not an award")
        archive.writestr("2015/1500009.xml", award_xml("1500009", "The last."))
    found = [
        RawDocument(f"{path}: 2015/1500041.xml", "1500041", text="The first."),
        RawDocument(f"{path}: 2015/1500007.json", "1500007", text="The second."),
        RawDocument(f"{path}: 2015/1500009.xml", "1500009", text="The last."),
    ]
    for source in (path, tmp_path):
        skipping = Skipping()
        assert list(read_awards(Files(source), Columns(), skipping)) == found
        assert skipping.count == 1
    with pytest.raises(UserError) as error:
        list(read_awards(Files(path), Columns(), stop))
    assert str(error.value).startswith(f"{path}: 2015/1500008.xml: not XML: no element found")


def test_damaged_zip_member_gives_an_error(tmp_path):
    path = tmp_path / "2015.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("1.xml", award_xml("1", "The first."))
        archive.writestr("2.xml", award_xml("2", "The second."))
    path.write_bytes(path.read_bytes().replace(b"The first.", b"The furst."))
    with pytest.raises(
        UserError, match=r"2015\.zip: 1\.xml: damaged, or not a zip file: Bad CRC-32"
    ):
        list(read_awards(Files(path), Columns(), stop))
    assert [one.id for one in read_awards(Files(path), Columns(), Skipping())] == ["2"]


@pytest.mark.parametrize(
    "parts, name",
    [
        (("2022.acl", "long", "42"), "2022.acl-long.42"),
        (("P18", "1", "1"), "P18-1001"),
        (("W18", "63", "10"), "W18-6310"),
        (("W00", "1", "2"), "W00-0102"),
        (("C69", "1", "1"), "C69-0101"),
        (("D19", "1", "7"), "D19-1007"),
        (("D19", "57", "2"), "D19-5702"),
    ],
)
def test_anthology_id(parts, name):
    assert anthology_id(*parts) == name


STREAMS = {
    "abstracts": (
        read_abstracts,
        "train.lower",
        "",
        "we sort . <eos> it works ." + " and works" * 20 + "\n",
        "",
    ),
    "ROCStories": (
        read_rocstories,
        "ROCStories.csv",
        ROC_NAMES,
        f"1,T,A,B,C,D,{'E ' * 100}\n",
        "",
    ),
    "Anthology": (
        read_anthology,
        "2020.cl.xml",
        '<collection id="2020.cl"><volume id="1">',
        f'<paper id="1"><abstract>{"We sort. " * 25}</abstract></paper>',
        "</volume></collection>",
    ),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_long_file_is_not_held_in_memory(tmp_path, stream):
    reader, name, head, document, tail = STREAMS[stream]
    write(tmp_path, {name: head + document * 10_000 + tail})
    found = reader(Files(tmp_path), Columns(), stop)
    tracemalloc.start()
    try:
        count = sum(1 for _ in found)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 10_000
    assert peak < (tmp_path / name).stat().st_size / 2
