"""Broken files are refused, exactly when Python's json module or the schema refuses them, and the error says where."""

import random
import time

import pytest

from tests.json import oracle
from tests.json.test_read import assert_agrees
from verite import _core

TRUTH = (
    '{"info": {"year": 2017, "note": "a\\u00e9\\n\\ud83d\\ude00 é"},\n'
    ' "images": [{"id": 1, "file_name": "a/b.jpg", "width": 640, "height": 480, "neg_category_ids": [1, 2]}, {"id": 22, "file_name": "ü.png"}],\n'  # noqa: E501
    ' "annotations": [{"id": 5, "image_id": 1, "category_id": 3, "bbox": [1.5, 2, 3.25, 4e1], "area": 130.0, "iscrowd": 0, '  # noqa: E501
    '"segmentation": [[1, 2.5, 3, 4, -5.25, 6, 7, 8, 0.5, 0]]}, '
    '{"id": 6, "image_id": 22, "category_id": 3, "bbox": [0.1, 0.2, 12.75, 1], "area": NaN, "iscrowd": true, "ignore": null, '  # noqa: E501
    '"segmentation": {"size": [4, 5], "counts": "04\\\\1"}}],\n'
    ' "categories": [{"id": 3, "name": "cat", "supercategory": "animal", "frequency": "r"}]}'
).encode()
RESULTS = (
    b'[{"image_id":42,"category_id":18,"bbox":[258.15,41.29,348.26,243.78],"score":0.236},'
    b'{"image_id":73,"category_id":11,"bbox":[61.0,22.75,504.0,609.67],"score":0.318,"segmentation":{"counts":[1,2,17],"size":[4,5]}},'
    b'{"image_id":73,"category_id":4,"bbox":[12.660000801086426,3.320000171661377,268.6000061035156,271.9100036621094],"score":0.7260000109672546}]'
)
DOCUMENTS = {"truth": TRUTH, "results": RESULTS}


@pytest.mark.thorough
@pytest.mark.parametrize("content", DOCUMENTS.values(), ids=DOCUMENTS)
def test_every_cut_is_refused_as_cut(content):
    assert assert_agrees(content)
    for size in range(len(content)):
        assert not assert_agrees(content[:size])
        with pytest.raises(_core.ParseError) as caught:
            _core.read_coco_bytes(content[:size])
        if size > 0:
            assert caught.value.code == "truncated"
            assert caught.value.byte == size
            assert f"ends at byte {size} inside" in str(caught.value)


BYTES = [0, 9, 10, 32, *b'"\\/{}[],:.-+eE0159ntfNIu_x', 127, 128, 0xBF, 0xC0, 0xC3, 0xE2, 0xED, 0xF0, 0xF5, 255]


@pytest.mark.thorough
@pytest.mark.parametrize("content", DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.parametrize("change", ["replace", "insert"])
def test_every_byte_replaced_or_inserted(content, change):
    random_byte = random.Random(1)
    for at in range(len(content)):
        for byte in random_byte.sample(BYTES, 6):
            assert_agrees(content[:at] + bytes([byte]) + content[at + (change == "replace") :])


@pytest.mark.thorough
@pytest.mark.parametrize("content", DOCUMENTS.values(), ids=DOCUMENTS)
def test_every_byte_left_out_doubled_or_swapped(content):
    for at in range(len(content)):
        assert_agrees(content[:at] + content[at + 1 :])
        assert_agrees(content[:at] + content[at : at + 1] + content[at:])
        assert_agrees(content[:at] + content[at + 1 : at + 2] + content[at : at + 1] + content[at + 2 :])


@pytest.mark.thorough
@pytest.mark.parametrize("content", DOCUMENTS.values(), ids=DOCUMENTS)
def test_pieces_moved_about(content):
    pick = random.Random(2)
    for _ in range(1500):
        a, b, c = sorted(pick.sample(range(len(content)), 3))
        assert_agrees(
            pick.choice(
                [
                    content[:a] + content[b:],
                    content[:b] + content[a:],
                    content[:a] + content[b:c] + content[a:b] + content[c:],
                ]
            )
        )


def error_of(content):
    with pytest.raises(_core.ParseError) as caught:
        _core.read_coco_bytes(content if isinstance(content, bytes) else content.encode())
    return caught.value


@pytest.mark.parametrize(
    ("content", "code", "section", "record", "words"),
    [
        ("", "empty", "", None, "the file is empty"),
        ("\ufeff \n", "empty", "", None, "the file is empty"),
        ("17", "type", "", None, "expected an object with sections or an array of results, found a number"),
        ("[] []", "syntax", "", None, "expected nothing after the end of the document, found an array"),
        (
            '[{"image_id":1,"category_id":2},\n{"image_id":1}]',
            "missing_key",
            "results",
            1,
            "results[1]: expected the key category_id, found none (byte 33, line 2)",
        ),
        (
            '{"annotations":[{"category_id":1,"image_id":null}]}',
            "missing_key",
            "annotations",
            0,
            "annotations[0]: expected the key image_id, found none",
        ),
        (
            '[{"image_id":1,"category_id":2,"score":1,"score":1}]',
            "repeated_key",
            "results",
            0,
            'expected each key once, found "score" twice',
        ),
        ('{"info":1,"info":2}', "repeated_key", "", None, 'expected each key once, found "info" twice'),
        ('{"images":[],"ima\\u0067es":[]}', "repeated_key", "", None, 'expected each key once, found "images" twice'),
        (
            '[{"image_id":1,"category_id":2},{"image_id":"x","category_id":2}]',
            "mixed_ids",
            "results",
            1,
            "results[1].image_id: expected a number as in the records before, found text",
        ),
        (
            '[{"image_id":1,"category_id":99999999999999999999}]',
            "number",
            "results",
            0,
            "results[0].category_id: expected an integer of 64 bits, found 99999999999999999999",
        ),
        ('[{"image_id":1.25,"category_id":2}]', "number", "results", 0, "found 1.25"),
        (
            '[{"image_id":1,"category_id":2,"bbox":[1,2]}]',
            "type",
            "results",
            0,
            "results[0].bbox: expected 4 numbers in bbox, found 2",
        ),
        (
            '[{"image_id":1,"category_id":2,"iscrowd":2}]',
            "number",
            "results",
            0,
            "results[0].iscrowd: expected 0, 1, false or true, found 2",
        ),
        (
            '[{"image_id":1,"category_id":2,"score":"0.5"}]',
            "type",
            "results",
            0,
            "results[0].score: expected a number, found a string",
        ),
        (
            '[{"image_id":NaN,"category_id":2}]',
            "type",
            "results",
            0,
            "results[0].image_id: expected a number, found NaN",
        ),
        (
            '[{"image_id":1,"category_id":2,"x":Infinity}]',
            "syntax",
            "results",
            0,
            "results[0]: expected a value, found Infinity",
        ),
        ('[{"image_id":1,"category_id":2,"x":01}]', "syntax", "results", 0, "expected ',' or '}', found a number"),
        ('[{"image_id":1,"category_id":2,"x":[1,]}]', "syntax", "results", 0, "expected a value, found ']'"),
        ('[{"image_id":1,"category_id":2},]', "type", "results", 1, "results[1]: expected an object, found ']'"),
        (
            '[{"image_id":1,"category_id":2} {}]',
            "syntax",
            "results",
            0,
            "expected ',' or ']' after a record, found an object",
        ),
        (
            '[{"image_id":1,"category_id":2,"x":"a\tb"}]',
            "syntax",
            "results",
            0,
            "a control character (byte 0x09) inside a string",
        ),
        ('[{"image_id":1,"category_id":2,"x":"\\q"}]', "syntax", "results", 0, "found \\ before 'q'"),
        ('[{"image_id":1,"category_id":2,"x":"\\ud800"}]', "encoding", "results", 0, "half a surrogate pair"),
        ('[{"image_id":1,"category_id":2,"x":"\\udc00\\ud800"}]', "encoding", "results", 0, "half a surrogate pair"),
        (b'[{"image_id":1,"category_id":2,"x":"\xc0\x80"}]', "encoding", "results", 0, "UTF-8 text, found byte 0xC0"),
        (
            b'[{"image_id":1,"category_id":2,"x":"\xed\xa0\x80"}]',
            "encoding",
            "results",
            0,
            "UTF-8 text, found byte 0xA0 inside a character",
        ),
        ('{"x":' + "[" * 64 + "]" * 64 + "}", "depth", "", None, "expected at most 64 levels of nesting, found more"),
        ('{"images":{}}', "type", "", None, "expected an array of images, found an object"),
        (
            '{"categories":[{"id":1,"name":"a","frequency":"x"}]}',
            "type",
            "categories",
            0,
            'categories[0].frequency: expected frequency "r", "c" or "f"',
        ),
        (
            '[{"image_id":1,"category_id":2,"segmentation":[1,2]}]',
            "type",
            "results",
            0,
            "results[0].segmentation: expected polygons as an array of arrays, found a number",
        ),
    ],
)
def test_errors_say_where_what_was_found_and_what_was_expected(content, code, section, record, words):
    error = error_of(content)
    assert (error.code, error.section, error.record) == (code, section, record)
    assert words in str(error)


def test_the_deepest_allowed_nesting_is_read():
    assert _core.read_coco_bytes(b'{"x":' + b"[" * 63 + b"]" * 63 + b"}").keys == ["x"]


def test_the_first_of_several_errors_is_reported_whatever_the_threads():
    record = '{"image_id":%s,"category_id":1,"bbox":[1,2,3,4]}'
    ids = ["1"] * 200
    ids[60], ids[61], ids[150] = '"text"', "x", "1.5"
    content = ("[" + ",".join(record % i for i in ids) + "]").encode()
    errors = set()
    for threads in [1, 2, 3, 8]:
        for piece_bytes in [10, 49, 50, 51, 333, 1000, 10**6]:
            with pytest.raises(_core.ParseError) as caught:
                _core.read_coco_bytes(content, threads, piece_bytes=piece_bytes)
            errors.add(str(caught.value))
    assert errors == {
        f"results[60].image_id: expected a number as in the records before, found text (byte {1 + 60 * 48 + 12}, line 1)"  # noqa: E501
    }


def test_records_that_hide_in_strings_and_nested_arrays_mislead_no_thread():
    decoy = '{"image_id":9,"category_id":9}'
    nested = '{{"image_id":1,"category_id":1,"segments_info":[{}],"note":"{}"}}'.format(
        ",".join([decoy] * 20),
        (decoy + ",").replace('"', '\\"') * 20,
    )
    content = ("[" + ",".join([nested] * 10) + "]").encode()
    expected = oracle.read(content)
    for threads in [1, 2, 3, 8]:
        for piece_bytes in [10, 100, 1000]:
            oracle.assert_same(_core.read_coco_bytes(content, threads, piece_bytes=piece_bytes), content, expected)


@pytest.mark.parametrize(
    "content",
    [
        b'{"x":' + b'[{"a":' * 30 + b"[" + b"1," * 1_000_000 + b"1]" + b"}]" * 30 + b"}",
        b'{"x":[' + b",".join([b'[{"a":' * 28 + b"[" + b"1," * 10_000 + b"1]" + b"}]" * 28] * 100) + b"]}",
        b'{"x":"' + b",{" * 1_000_000 + b'"}',
        b'{"x":[' + b" " * 2_000_000 + b'{"a":1}]}',
        b'{"x":[' + b"1.5," * 500_000 + b"1]}",
    ],
    ids=["one deep value", "many deep values", "string", "blanks", "numbers"],
)
def test_values_that_mislead_every_guess_cost_no_more_than_a_few_readings(content):
    seconds = {}
    for threads in [1, 2, 8]:
        started = time.process_time()
        _core.read_coco_bytes(content, threads, piece_bytes=4096)
        seconds[threads] = time.process_time() - started
    assert max(seconds.values()) < 20 * seconds[1] + 0.5, seconds


@pytest.mark.thorough
def test_ctrl_c_is_an_exception_of_the_caller():
    import signal
    import threading

    content = b"[" + b",".join([b'{"image_id":1,"category_id":2}'] * 3_000_000) + b"]"
    timer = threading.Timer(0.02, lambda: signal.raise_signal(signal.SIGINT))

    def read_on():
        timer.start()  # where it is waited for, however late this process gets its turn
        for _ in range(100):
            _core.read_coco_bytes(content, 2)

    with pytest.raises(KeyboardInterrupt):
        read_on()
