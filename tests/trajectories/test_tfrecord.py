"""Frames of TFRecord files and messages of Protocol Buffers, on bytes that are built by hand."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.trajectories.importers.crc32c import LANE, crc32c, masked
from core.trajectories.importers.tfrecord import is_tfrecord, records
from core.trajectories.importers.wire import Message, WireError
from tests.trajectories import written as w


@pytest.mark.parametrize(
    ("data", "crc"),
    [(b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E), (b"", 0)],
)
def test_crc32c_gives_the_values_of_rfc_3720(data, crc):
    assert crc32c(data) == crc


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=64), st.integers(0, 9 * LANE))
def test_crc32c_by_lanes_is_crc32c_byte_by_byte(start, more):
    data = start + bytes((i * 37 + len(start)) % 256 for i in range(more))
    assert crc32c(data) == w.crc32c(data)
    assert struct.pack("<I", masked(data)) == w.masked(data)


def test_records_come_one_by_one_with_their_offsets(tmp_path):
    path = w.write(tmp_path / "a.tfrecord", w.tfrecord(b"first", b"", b"x" * 3000))
    assert [(r.number, r.offset, r.data, r.sound) for r in records(path)] == [
        (0, 12, b"first", True),
        (1, 12 + 5 + 4 + 12, b"", True),
        (2, 12 + 5 + 4 + 12 + 0 + 4 + 12, b"x" * 3000, True),
    ]
    assert is_tfrecord(path)


def test_an_empty_file_has_no_records(tmp_path):
    path = w.write(tmp_path / "a.tfrecord", b"")
    assert list(records(path)) == []
    assert not is_tfrecord(path)


@pytest.mark.parametrize("lost", [1, 4, 5, 9, 10, 20])
def test_a_file_that_ends_inside_a_record_is_refused_with_the_byte(tmp_path, lost):
    whole = w.tfrecord(b"first", b"second")
    path = w.write(tmp_path / "a.tfrecord", whole[:-lost])
    with pytest.raises(InputError, match=r"ends inside record 1, which begins at byte 21: .*Nothing was imported"):
        list(records(path))


def test_every_cut_is_found(tmp_path):
    whole = w.tfrecord(b"first", b"second")
    for n in range(1, len(whole)):
        path = w.write(tmp_path / "a.tfrecord", whole[:n])
        if n == 21:  # exactly one whole record
            assert len(list(records(path))) == 1
            continue
        with pytest.raises(InputError, match="ends inside record"):
            list(records(path))


def test_a_wrong_length_is_refused_and_a_wrong_content_is_told(tmp_path):
    whole = bytearray(w.tfrecord(b"first", b"second"))
    whole[14] ^= 1
    path = w.write(tmp_path / "a.tfrecord", bytes(whole))
    assert [r.sound for r in records(path)] == [False, True]
    whole[21] ^= 1
    w.write(path, bytes(whole))
    with pytest.raises(InputError, match=r"at byte 21 \(record 1\) the checksum of the length"):
        list(records(path))


def test_a_length_beyond_reason_is_refused_before_anything_is_read(tmp_path):
    length = struct.pack("<Q", 2**50)
    path = w.write(tmp_path / "a.tfrecord", length + w.masked(length))
    with pytest.raises(InputError, match="claims 1,125,899,906,842,624 bytes"):
        list(records(path))


def test_a_compressed_file_is_named_as_such(tmp_path):
    path = w.write(tmp_path / "a.tfrecord.gz", b"\x1f\x8b" + bytes(30))
    with pytest.raises(InputError, match="compressed with gzip"):
        list(records(path))


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(records(tmp_path / "none.tfrecord"))


def test_a_message_gives_its_fields_by_number():
    data = w.integer(1, 150) + w.integer(2, -3) + w.blob(3, "text") + w.floats(4, [1.5, -2.0]) + w.doubles(5, [0.25, 1e300])
    data += w.blob(6, w.integer(1, 7)) + w.blob(6, w.integer(1, 8)) + w.floats(4, [4.0], packed=False)
    m = Message(data)
    assert m.integer(1) == 150
    assert m.integer(2) == -3
    assert m.string(3) == "text"
    assert m.floats(4).tolist() == [1.5, -2.0, 4.0]
    assert m.floats(5, "<f8").tolist() == [0.25, 1e300]
    assert [x.integer(1) for x in m.messages(6)] == [7, 8]
    assert m.message(6).integer(1) == 8, "occurrences of a single message are merged, the last value counts"
    assert (m.integer(9, 5), m.string(9), m.floats(9).tolist(), m.number(9), m.messages(9)) == (5, "", [], None, [])
    assert 1 in m
    assert 9 not in m


def test_offsets_say_where_bytes_lie_in_the_outermost_message():
    inner = w.blob(2, b"JPEG")
    data = w.integer(1, 1) + w.blob(4, inner)
    (content, offset), *_ = Message(data).messages(4)[0].blobs(2)
    assert bytes(content) == b"JPEG" == data[offset : offset + 4]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x08", "ends inside a number"),
        (b"\x08" + b"\xff" * 11, "more than ten bytes"),
        (b"\x12\x05ab", "needs 5 bytes, 2 are there"),
        (b"\x0b", "wire type 3"),
        (b"\x00\x01", "number 0"),
        (b"\x0d\x01\x02", "needs 4 bytes"),
    ],
)
def test_broken_messages_are_refused_with_the_byte(data, why):
    with pytest.raises(WireError, match=why):
        Message(data)


def test_a_field_of_another_kind_is_refused():
    m = Message(w.integer(1, 5) + w.blob(2, b"\xff\xfe") + w.blob(3, b"abc"))
    with pytest.raises(WireError, match="is a number, not bytes"):
        m.blobs(1)
    with pytest.raises(WireError, match="not a whole number"):
        m.integer(2)
    with pytest.raises(WireError, match="no UTF-8"):
        m.string(2)
    with pytest.raises(WireError, match="no list of 4-byte numbers"):
        m.floats(3)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail_in_another_way(data):
    try:
        m = Message(data)
        for n in range(1, 16):
            for get in (m.messages, m.strings, m.floats, m.integer):
                try:
                    get(n)
                except WireError:
                    continue
    except WireError as e:
        assert str(e)
