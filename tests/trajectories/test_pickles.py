"""Pickles are read as data: good ones give arrays and trajectories, everything else is refused by name and nothing runs."""

import builtins
import os
import pickle
import pickletools
import struct
import sys
import tracemalloc
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.trajectories.importers.pickles import NAMES, Array, Record, read_pickle
from tests.trajectories import written as w


@pytest.fixture
def marker(tmp_path):
    """A file that would be there if anything had run."""
    path = tmp_path / "ran"
    yield path
    assert not path.exists(), "the pickle ran something"


class Calls:
    """Pickles to a call of anything with any arguments."""

    def __init__(self, function, *arguments):
        self.reduced = (function, arguments)

    def __reduce__(self):
        return self.reduced


def refused(path: Path, data: bytes) -> str:
    with pytest.raises(InputError) as e:
        read_pickle(w.write(path, data))
    text = str(e.value)
    assert text.startswith('"x.pkl" was not read, and nothing in it was run: ')
    return text


@pytest.fixture
def x(tmp_path):
    return tmp_path / "x.pkl"


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_plain_values_and_arrays_come_back(x, protocol):
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    values = {
        "text": "ä" * 300,
        "numbers": [1, -5, 70_000, 2**70, 1.5, True, None],
        "tuple": (1, (2, 3), (), (4, 5, 6, 7)),
        "rows": rows,
        "fortran": np.asfortranarray(rows.astype(np.float64)),
        "big endian": rows.astype(">f8"),
        "flags": np.array([True, False]),
        "counts": np.arange(3, dtype=np.int64),
        "none": np.zeros((0, 3)),
        "scalar": np.float64(2.5),
        "bytes": b"raw",
    }
    found = read_pickle(w.write(x, pickle.dumps(values, protocol=protocol)))
    for key in ("text", "numbers", "tuple", "scalar", "bytes"):
        assert found[key] == values[key]
    for key in ("rows", "fortran", "big endian", "flags", "counts", "none"):
        assert isinstance(found[key], Array)
        np.testing.assert_array_equal(found[key].value, values[key])
        assert found[key].value.dtype == values[key].dtype


def test_arrays_of_older_numpy_are_read(x):
    data = pickle.dumps(np.arange(3.0), protocol=3)
    older = data.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")
    assert older != data
    np.testing.assert_array_equal(read_pickle(w.write(x, older)).value, [0, 1, 2])


def test_the_same_array_twice_is_one(x):
    rows = np.arange(3.0)
    first, second = read_pickle(w.write(x, pickle.dumps([rows, rows])))
    assert first is second


def test_the_two_classes_become_records(x, navsim_classes):
    trajectory = navsim_classes.Trajectory(np.zeros((8, 3), dtype=np.float32))
    found = read_pickle(w.write(x, pickle.dumps(trajectory)))
    assert isinstance(found, Record)
    assert found.name == "Trajectory"
    assert found.state["trajectory_sampling"].state == {"num_poses": 8, "time_horizon": 4, "interval_length": 0.5}


CALLS = {
    "posix.system": lambda m: Calls(os.system, f"touch {m}"),
    "builtins.eval": lambda m: Calls(builtins.eval, f"open({str(m)!r}, 'w')"),
    "builtins.exec": lambda m: Calls(builtins.exec, f"open({str(m)!r}, 'w')"),
    "builtins.getattr": lambda m: Calls(builtins.getattr, "text", "join"),
    f"{open.__module__}.open": lambda m: Calls(builtins.open, str(m), "w"),
    "builtins.__import__": lambda m: Calls(builtins.__import__, "os"),
    "subprocess.check_output": lambda m: Calls(__import__("subprocess").check_output, ["touch", str(m)]),
    "numpy.load": lambda m: Calls(np.load, str(m)),
    "numpy.fromfile": lambda m: Calls(np.fromfile, str(m)),
    "numpy.savetxt": lambda m: Calls(np.savetxt, str(m), [1.0]),
    "numpy.memmap": lambda m: Calls(np.memmap, str(m), "float32", "w+", 0, (4,)),
    f"{np.ctypeslib.load_library.__module__}.load_library": lambda m: Calls(np.ctypeslib.load_library, "libc", "/lib"),
    "collections.OrderedDict": lambda m: OrderedDict(a=1),
    "pathlib.PosixPath": lambda m: m,
    "_pickle.loads": lambda m: Calls(pickle.loads, pickle.dumps(Calls(os.system, f"touch {m}"))),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_names_that_are_not_allowed_are_refused_by_name(x, marker, name, protocol):
    text = refused(x, pickle.dumps({"predictions": [{"a": CALLS[name](marker)}]}, protocol=protocol))
    assert f'it wants "{name}"' in text


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "navsim.common.dataclasses.Trajectory.__init__", "numpy.matrix", "numpy."])
def test_names_are_compared_whole(x, marker, name):
    module, _, attribute = name.rpartition(".")
    if name.endswith("__init__"):
        module, attribute = "navsim.common.dataclasses", "Trajectory.__init__"
    data = b"\x80\x04" + text(module) + text(attribute) + b"\x93" + text(f"touch {marker}") + b"\x85R."
    assert f'it wants "{module}.{attribute}"' in refused(x, data)


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def named(module: str, attribute: str) -> bytes:
    return text(module) + text(attribute) + b"\x93"


RECONSTRUCT = named("numpy.core.multiarray", "_reconstruct")
NDARRAY, DTYPE = named("numpy", "ndarray"), named("numpy", "dtype")
TRAJECTORY = named("navsim.common.dataclasses", "Trajectory")
F8 = DTYPE + text("f8") + b"\x85R" + b"(K\x03" + text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
HUGE = b"\x8a\x05" + (2**36).to_bytes(5, "little")


def build(shape: bytes, raw: bytes = b"C\x08" + bytes(8), kind: bytes = F8) -> bytes:
    """An array with a state of our choice."""
    return RECONSTRUCT + NDARRAY + b"K\x00\x85C\x01b\x87R" + b"(K\x01" + shape + kind + b"\x89" + raw + b"tb"


def program(body: bytes) -> bytes:
    return b"\x80\x04" + body + b"."


def test_the_hand_built_array_is_sound(x):
    np.testing.assert_array_equal(read_pickle(w.write(x, program(build(b"K\x01\x85")))).value, [0.0])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (build(HUGE + b"\x85"), "an array says that it has the shape (68719476736,) of f8, but brings 8 bytes"),
        (build(b"J\xff\xff\xff\xff\x85"), "but brings 8 bytes"),
        (build(b"K\x02K\x02\x86"), "says that it has the shape (2, 2) of f8, but brings 8 bytes"),
        (build(b"K\x01\x85", b"]"), "something other than plain numbers"),
        (build(b"K\x01\x85", kind=DTYPE + text("O8") + b"\x85R"), 'an array of "O8"'),
        (build(b"K\x01\x85", kind=DTYPE + text("V8") + b"\x85R"), 'an array of "V8"'),
        (build(b"K\x01\x85", kind=DTYPE + text("f8,i4") + b"\x85R"), 'an array of "f8,i4"'),
        (build(b"K\x01\x85", kind=text("f8")), "something other than plain numbers"),
        (DTYPE + text("f8") + b"\x85R(K\x03" + text("<") + b"NN}K\x08K\x01K\x00tb", "something other than plain numbers"),
        (NDARRAY + HUGE + b"\x85\x85R", 'calls "numpy.ndarray" in a way that makes no array'),
        (RECONSTRUCT + TRAJECTORY + b"K\x00\x85C\x01b\x87R", "in a way that makes no array"),
        (TRAJECTORY + b")R", 'calls "navsim.common.dataclasses.Trajectory"'),
        (TRAJECTORY + b"K\x01\x85\x81", "makes an object that is neither Trajectory nor TrajectorySampling"),
        (NDARRAY + b")\x81", "makes an object that is neither"),
        (text("system") + b")R", 'calls "str"'),
        (TRAJECTORY + b")\x81}b}b", "fills a value a second time"),
        (build(b"K\x01\x85") + b"}b", "fills a value a second time"),
        (TRAJECTORY + b"}b", "fills a value a second time or in an unknown way"),
        (TRAJECTORY + b"N}\x86b", "in an unknown way"),
        (TRAJECTORY + b")\x81N}\x86b", "in an unknown way"),
        (b"]}b", "in an unknown way"),
        (b"K\x01K\x02\x93", "names something without a text"),
        (b"h\x07", "recalls value 7, which it never kept"),
        (b"(h\x00", "recalls value 0"),
        (b"\x94", "uses a value that is not there"),
        (b"(\x94", "uses a value that is not there"),
        (b"}K\x01K\x02s", "with keys that are no texts"),
        (b"}(" + text("a") + b"u", "with keys that are no texts"),
        (b"]e", "uses values that are not there"),
        (b")(e", "appends to something that is no list"),
        (b"]]", "does not end with one value"),
        (b"", "does not end with one value"),
        (b"\x8f", 'uses the instruction "EMPTY_SET"'),
        (b"]2", 'uses the instruction "DUP"'),
        (b"K\x01Q", 'uses the instruction "BINPERSID"'),
        (b"\x82\x01", 'uses the instruction "EXT1"'),
        (b"\x97", 'uses the instruction "NEXT_BUFFER"'),
        (TRAJECTORY + b")}\x92", 'uses the instruction "NEWOBJ_EX"'),
        (b"(ios\nsystem\n", 'uses the instruction "INST"'),
        (b"(" + TRAJECTORY + b"o", 'uses the instruction "OBJ"'),
        (b"I1\n", 'uses the instruction "INT"'),
    ],
)
def test_tricks_are_refused(x, body, why):
    assert why in refused(x, program(body))


def test_a_call_inside_a_call_is_refused_at_the_first_name(x, marker):
    inner = Calls(os.system, f"touch {marker}")
    outer = Calls(np.array, [Calls(np.frombuffer, inner)])
    assert 'it wants "numpy.array"' in refused(x, pickle.dumps(outer))


def test_a_name_that_was_put_in_the_memo_cannot_be_called_with_anything_else(x):
    assert "in a way that makes no array" in refused(x, program(NDARRAY + b"\x94h\x00" + text("x") + b"\x85R"))


def test_the_memo_does_not_multiply_memory(x):
    body = b"]\x94" + b"".join(b"](" + b"h" + bytes([k]) + b"h" + bytes([k]) + b"e\x94" for k in range(40))
    tracemalloc.start()
    with pytest.raises(InputError, match="does not end with one value"):
        read_pickle(w.write(x, program(body)))
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_claim_of_a_huge_text_takes_no_memory(x):
    tracemalloc.start()
    for claim in (b"\x8d" + struct.pack("<Q", 2**40), b"B" + struct.pack("<I", 2**31 - 1), b"\x8b" + struct.pack("<i", 2**30)):
        assert "it is damaged" in refused(x, b"\x80\x04" + claim + b"abc.")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_large_file_is_not_loaded(x, monkeypatch):
    monkeypatch.setattr("core.trajectories.importers.pickles.LARGEST_FILE", 10)
    with pytest.raises(InputError, match="has 11 bytes; a pickle of at most 10 is read"):
        read_pickle(w.write(x, bytes(11)))


def test_too_many_values_are_refused(x, monkeypatch):
    monkeypatch.setattr("core.trajectories.importers.pickles.MOST_VALUES", 100)
    assert "more than" in refused(x, program(b"]" * 200))


@pytest.mark.parametrize("lost", [1, 5, 40])
def test_a_cut_file_is_refused(x, lost):
    refused(x, pickle.dumps({"a": np.zeros(50)})[:-lost])


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_pickle(tmp_path / "none.pkl")


def test_nothing_in_the_reader_can_import_or_call_by_name():
    source = Path(sys.modules[read_pickle.__module__].__file__).read_text(encoding="utf-8")
    for word in ("import_module", "__import__", "getattr(", "eval(", "exec(", "pickle.load", "find_class"):
        assert word not in source.split('"""', 2)[2], word
    assert {f"{m}.{n}" for m, n in NAMES if not m.startswith("numpy")} == {
        "navsim.common.dataclasses.Trajectory",
        "nuplan.planning.simulation.trajectory.trajectory_sampling.TrajectorySampling",
    }


OPCODES = [op.code.encode("latin-1") for op in pickletools.opcodes]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(OPCODES), st.binary(max_size=6), st.sampled_from([NDARRAY, DTYPE, TRAJECTORY, F8])), max_size=30))
def test_no_program_makes_the_reader_fail_in_another_way(tmp_path_factory, parts):
    path = tmp_path_factory.mktemp("fuzz") / "x.pkl"
    try:
        read_pickle(w.write(path, b"\x80\x04" + b"".join(parts) + b"."))
    except InputError as e:
        assert "nothing in it was run" in str(e)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_changed_byte_gives_values_or_a_refusal(tmp_path_factory, data):
    good = bytearray(pickle.dumps({"predictions": [{"a": np.arange(6.0).reshape(2, 3)}]}))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("fuzz") / "x.pkl"
    try:
        read_pickle(w.write(path, bytes(good)))
    except InputError as e:
        assert "nothing in it was run" in str(e)
