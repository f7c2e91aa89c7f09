"""Pickles of trajectories read as data: nothing in the file is ever imported, called or run.

A pickle is a program for a small machine. `pickle.load` lets it import and call anything; even an `Unpickler` that refuses names lets
it call, and change, whatever it is given. Here the machine is our own: it knows the few instructions that plain values need, and
of the world outside it knows seven names, which stand for values that it builds itself. Any other name or instruction ends the
reading before anything is made of it. numpy sees a file's bytes only when kind, shape and length of an array were found to agree.
"""

from __future__ import annotations

import io
import math
import pickletools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import InputError

LARGEST_FILE = 256 * 2**20
MOST_STEPS = 20_000_000
MOST_VALUES = 4_000_000
"""Values on the stack or in the memo at once."""
MOST_BITS = 512
"""Of a whole number; much longer ones are no floats any more, and cannot even be printed."""

TRAJECTORY = ("navsim.common.dataclasses", "Trajectory")
SAMPLING = ("nuplan.planning.simulation.trajectory.trajectory_sampling", "TrajectorySampling")
NAMES: dict[tuple[str, str], str] = {
    TRAJECTORY: "object",
    SAMPLING: "object",
    ("numpy", "ndarray"): "array type",
    ("numpy", "dtype"): "number type",
    **{(f"numpy.{core}.multiarray", "_reconstruct"): "array" for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): "scalar" for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): "buffer" for core in ("core", "_core")},
}
"""Every name that a file may use, and what it stands for. (`core` was numpy's name until 1.26, `_core` is the one since 2.0.)"""

NUMBER = re.compile(r"b1|[iu][1248]|f[248]")


class RefusedError(ValueError):
    """The file wants something that is not allowed; the text says what."""


@dataclass(frozen=True)
class Name:
    """A name of the world outside; only ever one of `NAMES`."""

    module: str
    name: str

    @property
    def role(self) -> str:
        """What it stands for."""
        return NAMES[self.module, self.name]


@dataclass(eq=False)
class NumberType:
    """A numpy dtype: code such as "f4", byte order."""

    code: str
    order: str = "<"
    built: bool = False


@dataclass(eq=False)
class Array:
    """An array; `value` is None until its content was read."""

    value: npt.NDArray[Any] | None = None


@dataclass(eq=False)
class Record:
    """An object of one of the two classes, as what it was made of.

    Attributes:
        name: Its class.
        state: Its attributes.
    """

    name: str
    state: dict[str, Any] | None = None


_MARK = object()
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = frozenset(
    (
        "BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES BINBYTES8 BYTEARRAY8"
    ).split()
)
_BY_CODE = {op.code: op for op in pickletools.opcodes}
_IGNORED = frozenset({"PROTO", "FRAME"})
_COLLECTING = frozenset("EMPTY_LIST EMPTY_DICT EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS".split())
_MAKING = frozenset("MARK MEMOIZE BINPUT LONG_BINPUT BINGET LONG_BINGET GLOBAL STACK_GLOBAL NEWOBJ REDUCE BUILD STOP".split())
INSTRUCTIONS = _LITERALS | _CONSTANTS.keys() | _IGNORED | _COLLECTING | _MAKING
"""Every instruction that a file may use."""


def read_pickle(path: Path) -> Any:
    """What a pickle holds: dicts, lists, tuples, texts, numbers, `Array` and `Record`.

    Raises:
        InputError: The file cannot be read, is damaged, or uses a name or an instruction that is not allowed; nothing was run.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST_FILE else b""
    except OSError as e:
        raise InputError(f'"{path}" cannot be read: {e.strerror or e}.') from e
    if size > LARGEST_FILE:
        raise InputError(f'"{path.name}" has {size:,} bytes; a pickle of at most {LARGEST_FILE:,} is read.')
    try:
        return _Machine().run(data)
    except RefusedError as e:
        allowed = ", ".join(sorted({name for _, name in NAMES}))
        raise InputError(
            f'"{path.name}" was not read, and nothing in it was run: {e}. Allowed: plain values, arrays of numbers, and the names '
            f"{allowed}. Save the file again with only its predictions (see docs/cases.md, NAVSIM)."
        ) from e


def _instructions(data: bytes) -> Iterator[tuple[str, Any, int]]:
    """Name, argument and byte of every instruction; one that is not allowed is refused before its argument is looked at."""
    file = io.BytesIO(data)
    while True:
        at = file.tell()
        code = file.read(1)
        op = _BY_CODE.get(code.decode("latin-1"))
        if not code:
            return
        if op is None or op.name not in INSTRUCTIONS:
            raise RefusedError(f'it uses the instruction "{op.name if op else code.hex()}" (byte {at:,})')
        if op.name == "GLOBAL":
            module, name = (file.readline().rstrip(b"\n").decode("utf-8") for _ in range(2))
            yield op.name, (name, module), at
        else:
            yield op.name, op.arg.reader(file) if op.arg else None, at


class _Machine:
    """Runs the instructions of one file."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        steps = 0
        try:
            for op, argument, at in _instructions(data):
                steps += 1
                if steps > MOST_STEPS or len(self.stack) > MOST_VALUES or len(self.memo) > MOST_VALUES:
                    raise RefusedError(f"it has more than {MOST_STEPS:,} instructions or {MOST_VALUES:,} values")
                if op == "STOP":
                    return self._result()
                self._step(op, argument, at)
        except RefusedError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, RecursionError) as e:
            raise RefusedError(f"it is damaged after {steps:,} instructions ({e})") from e
        raise RefusedError("it ends without its last instruction")

    def _result(self) -> Any:
        if len(self.stack) != 1 or self.stack[0] is _MARK:
            raise RefusedError("it does not end with one value")
        return self.stack[0]

    def _step(self, op: str, argument: Any, at: int) -> None:
        stack = self.stack
        if op in _LITERALS:
            if type(argument) is int and argument.bit_length() > MOST_BITS:
                raise RefusedError(f"it has a whole number of {argument.bit_length():,} bits; at most {MOST_BITS} are read (byte {at:,})")
            stack.append(argument)
        elif op in _CONSTANTS:
            stack.append(_CONSTANTS[op])
        elif op in _IGNORED:
            pass
        elif op == "MARK":
            stack.append(_MARK)
        elif op == "MEMOIZE":
            self.memo[len(self.memo)] = self._top()
        elif op in ("BINPUT", "LONG_BINPUT"):
            self.memo[argument] = self._top()
        elif op in ("BINGET", "LONG_BINGET"):
            if argument not in self.memo:
                raise RefusedError(f"it recalls value {argument}, which it never kept (byte {at:,})")
            stack.append(self.memo[argument])
        elif op in _COLLECTING:
            self._collect(op)
        elif op in ("GLOBAL", "STACK_GLOBAL"):
            name, module = (self._pop(), self._pop()) if op == "STACK_GLOBAL" else argument
            stack.append(_named(module, name, at))
        elif op == "NEWOBJ":
            arguments, kind = self._pop(), self._pop()
            if not (isinstance(kind, Name) and kind.role == "object" and arguments == ()):
                raise RefusedError(f"it makes an object that is neither {TRAJECTORY[1]} nor {SAMPLING[1]} (byte {at:,})")
            stack.append(Record(kind.name))
        elif op == "REDUCE":
            arguments, function = self._pop(), self._pop()
            stack.append(_called(function, arguments, at))
        else:
            state = self._pop()
            _fill(self._top(), state, at)

    def _collect(self, op: str) -> None:
        """Instructions that gather values to lists, tuples and dicts."""
        stack = self.stack
        if op in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"):
            stack.append({"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}[op]())
        elif op == "TUPLE":
            stack.append(tuple(self._since_mark()))
        elif op in ("TUPLE1", "TUPLE2", "TUPLE3"):
            items = [self._pop() for _ in range(int(op[-1]))]
            stack.append(tuple(reversed(items)))
        elif op in ("APPEND", "APPENDS"):
            more = [self._pop()] if op == "APPEND" else self._since_mark()
            if type(self._top()) is not list:
                raise RefusedError("it appends to something that is no list")
            self._top().extend(more)
        else:
            flat = self._since_mark() if op == "SETITEMS" else list(reversed([self._pop(), self._pop()]))
            keys = flat[0::2]
            if type(self._top()) is not dict or len(flat) % 2 or not all(type(k) is str for k in keys):
                raise RefusedError("it sets items of something that is no dict, or with keys that are no texts")
            self._top().update(zip(keys, flat[1::2], strict=True))

    def _top(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise RefusedError("it uses a value that is not there")
        return self.stack[-1]

    def _pop(self) -> Any:
        self._top()
        return self.stack.pop()

    def _since_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while at >= 0 and self.stack[at] is not _MARK:
            at -= 1
        if at < 0:
            raise RefusedError("it uses values that are not there")
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items


def _named(module: Any, name: Any, at: int) -> Name:
    if not (isinstance(module, str) and isinstance(name, str)):
        raise RefusedError(f"it names something without a text (byte {at:,})")
    if (module, name) not in NAMES:
        raise RefusedError(f'it wants "{module}.{name}" (byte {at:,})')
    return Name(module, name)


def _called(function: Any, arguments: Any, at: int) -> Any:
    """What a call gives; only of the names that stand for arrays and their types, none of which calls anything."""
    role = function.role if isinstance(function, Name) else ""
    args = arguments if type(arguments) is tuple else ()
    if role == "number type" and len(args) in (1, 2, 3) and isinstance(args[0], str):
        if not NUMBER.fullmatch(args[0]):
            raise RefusedError(f'it has an array of "{args[0][:40]}"; numbers are read (f4, f8, i8 and the like)')
        return NumberType(args[0])
    if role == "array" and len(args) == 3 and isinstance(args[0], Name) and args[0].role == "array type":
        return Array()
    if role == "scalar" and len(args) == 2 and isinstance(args[0], NumberType) and isinstance(args[1], bytes):
        return _array(args[0], (1,), args[1], "C").item()
    if role == "buffer" and len(args) == 4 and isinstance(args[0], bytes | bytearray) and isinstance(args[1], NumberType):
        return Array(_array(args[1], args[2], args[0], args[3]))
    what = f"{function.module}.{function.name}" if isinstance(function, Name) else type(function).__name__
    raise RefusedError(f'it calls "{what}" in a way that makes no array (byte {at:,})')


def _fill(target: Any, state: Any, at: int) -> None:
    """Give a value its content, once."""
    if isinstance(target, NumberType) and not target.built and type(state) is tuple and len(state) >= 5:
        if state[1] not in ("<", ">", "|", "=") or any(x is not None for x in state[2:5]):
            raise RefusedError(f"it has an array of something other than plain numbers (byte {at:,})")
        target.order, target.built = state[1], True
    elif isinstance(target, Array) and target.value is None and type(state) is tuple and len(state) == 5:
        _, shape, kind, fortran, raw = state
        if not isinstance(kind, NumberType) or not isinstance(raw, bytes):
            raise RefusedError(f"it has an array of something other than plain numbers (byte {at:,})")
        target.value = _array(kind, shape, raw, "F" if fortran else "C")
    elif isinstance(target, Record) and target.state is None and type(state) is dict:
        target.state = state
    else:
        raise RefusedError(f"it fills a value a second time or in an unknown way (byte {at:,})")


def _array(kind: NumberType, shape: Any, raw: bytes | bytearray, order: Any) -> npt.NDArray[Any]:
    """The array, where kind, shape and length agree; its memory is that of the bytes that the file really has."""
    sound = type(shape) is tuple and len(shape) <= 4 and all(type(n) is int and 0 <= n <= LARGEST_FILE for n in shape)
    size = int(kind.code[1:])
    if not sound or order not in ("C", "F") or math.prod(shape) * size != len(raw):
        raise RefusedError(f"an array says that it has the shape {str(shape)[:60]} of {kind.code}, but brings {len(raw):,} bytes")
    order_of_bytes = "<" if kind.order == "=" else kind.order
    flat = np.frombuffer(raw, dtype=np.dtype(f"{order_of_bytes}{kind.code}"))
    flat.flags.writeable = False
    return flat.reshape(shape, order=order)  # never a copy: a file can ask for the same array a million times
