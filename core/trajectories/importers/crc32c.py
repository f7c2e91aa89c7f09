"""CRC-32C (Castagnoli) of long byte strings, fast enough to check gigabytes without a compiled package.

The sum is linear over bits, so a long string is cut into lanes of equal length that numpy advances together, byte by byte; the sums
of neighbouring lanes are then joined pairwise. (Polynomial 0x1EDC6F41, reflected 0x82F63B78; RFC 3720, appendix B.4.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]

POLYNOMIAL = 0x82F63B78
MASK_DELTA = 0xA282EAD8
LANE = 128
"""Bytes of a lane; a power of two, so that lanes can be joined pairwise."""


def _byte_table() -> Words:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(POLYNOMIAL), table >> 1).astype(np.uint32)
    return table


TABLE = _byte_table()
_PLAIN = [int(x) for x in TABLE]


def _short(data: bytes, crc: int) -> int:
    for byte in data:
        crc = _PLAIN[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc


def _shift_tables(zeros: int) -> Words:
    """Tables (4, 256) that carry a sum over that many zero bytes, looked up by each of its four bytes."""
    basis = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(zeros):
        basis = TABLE[basis & np.uint32(0xFF)] ^ (basis >> np.uint32(8))
    return _spread(basis)


def _spread(basis: Words) -> Words:
    """Tables from what becomes of each of the 32 bits."""
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    rows = [np.bitwise_xor.reduce(np.where(bits, basis[8 * k : 8 * k + 8], np.uint32(0)), axis=1) for k in range(4)]
    return np.array(rows, dtype=np.uint32)


def _apply(tables: Words, crc: Words) -> Words:
    out: Words = tables[0][crc & 0xFF] ^ tables[1][(crc >> 8) & 0xFF] ^ tables[2][(crc >> 16) & 0xFF] ^ tables[3][crc >> 24]
    return out


_LANE_TABLES = _shift_tables(LANE)


def crc32c(data: bytes | memoryview) -> int:
    """The CRC-32C of a byte string, e.g. 0xE3069283 for b"123456789"."""
    view = memoryview(data)
    if len(view) < 4 * LANE:
        return _short(bytes(view), 0xFFFFFFFF) ^ 0xFFFFFFFF
    # Starting with all ones is the same as starting with zero and the first four bytes inverted; zeros in front then change nothing.
    lanes = -(-len(view) // LANE)
    padded = np.zeros(lanes * LANE, dtype=np.uint8)
    padded[-len(view) :] = np.frombuffer(view, dtype=np.uint8)
    padded[-len(view) : len(padded) - len(view) + 4] ^= 0xFF
    columns = np.ascontiguousarray(padded.reshape(lanes, LANE).T)
    crc = np.zeros(lanes, dtype=np.uint32)
    for column in columns:
        crc = TABLE[(crc ^ column) & 0xFF] ^ (crc >> np.uint32(8))
    return _join(crc) ^ 0xFFFFFFFF


def _join(crc: Words) -> int:
    """The sum of all lanes in a row, each `LANE` bytes long."""
    tables = _LANE_TABLES
    while len(crc) > 1:
        if len(crc) % 2:
            crc = np.concatenate([np.zeros(1, dtype=np.uint32), crc])
        crc = _apply(tables, crc[0::2]) ^ crc[1::2]
        basis = np.uint32(1) << np.arange(32, dtype=np.uint32)
        tables = _spread(_apply(tables, _apply(tables, basis)))
    return int(crc[0])


def masked(data: bytes | memoryview) -> int:
    """The sum as TFRecord stores it: turned by 15 bits and moved, so that sums of sums stay sound."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + MASK_DELTA) & 0xFFFFFFFF
