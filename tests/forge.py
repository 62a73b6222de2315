"""Forged files, with right checksums, as an attacker would write them."""

import copy
import json
import math
import struct
import zlib

import numpy as np

from fastclf.storage import state

# Replacements for integers and for floats in an array, and for entries of the header.
NUMBERS = [0, 1, -1, 2, 7, 2**15, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63), 2**63 - 1]
FLOATS = [0.0, -0.0, 1e-320, 1e308, -1e308, math.inf, -math.inf, math.nan, 0.5, -3.0]
ENTRIES = [None, True, False, 0, 1, -1, 3, 40, 2**31, 2**63, -(2**63), 10**30, "", "a", "cosine", "gini", "no", [], {}]
ENTRIES += [{"float": "nan"}, {"float": "inf"}, {"float": "-0x1.8p+1"}, {"array": 0}, {"array": 1}, {"array": 2}]
ENTRIES += [{"tuple": []}, {"dict": {}}, {"objects": [[1], ["a"]]}, {"scalar": ["<i8", "ff" * 8]}, "<f8", "<i4", "|u1"]


def containers(tree):
    if isinstance(tree, (list, dict)):
        yield tree
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from containers(item)


def altered_header(content, rng):
    header, arrays = parts(content)
    for _ in range(rng.randint(1, 3)):
        inner = rng.choice([tree for tree in containers(header) if tree])
        key = rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        change = rng.randrange(4)
        if change == 0:
            del inner[key]
        elif change == 1:
            inner[key] = copy.deepcopy(rng.choice(list(containers(header))))
        elif change == 2 and isinstance(inner[key], int):
            inner[key] += rng.choice([-1, 1])
        else:
            inner[key] = copy.deepcopy(rng.choice(ENTRIES))
    return assemble(header, arrays)


def altered_array(content, rng):
    """A copy of a file with one or more entries of one array changed, and right checksums."""
    header, arrays = parts(content)
    places = [place for place in state.layout(header["arrays"], 0) if place[3] > place[2]]
    if not places:
        return altered_header(content, rng)
    dtype, _, start, stop = rng.choice(places)
    array = np.frombuffer(arrays[start:stop], dtype).copy()
    for _ in range(rng.choice([1, 1, 1, 3, len(array)])):
        entry = rng.randrange(len(array))
        if dtype.kind in "iu":
            array[entry] = np.array(rng.choice(NUMBERS)).astype(dtype)
        elif dtype.kind == "f":
            with np.errstate(over="ignore"):
                array[entry] = rng.choice(FLOATS)
        else:
            array.view(np.uint8)[rng.randrange(array.nbytes)] = rng.randrange(256)
    return assemble(header, arrays[:start] + array.tobytes() + arrays[stop:])


def altered_bytes(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 4, 64])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def cut(content, rng):
    place = rng.randrange(len(content))
    return content[:place] + content[place + rng.choice([0, 1, 8, len(content)]) :]


ALTER = [altered_header] * 4 + [altered_array] * 4 + [altered_bytes, cut]


def parts(content):
    """(header, arrays' bytes) of a file."""
    _, _, length, _, _ = struct.unpack("<8sIIII", content[:24])
    start = 24 + length
    return json.loads(content[24:start]), content[start + -start % 64 :]


def assemble(header, arrays, version=1):
    """Write a file with right checksums from a changed header and arrays."""
    header = json.dumps(header).encode()
    header += b" " * (-(24 + len(header)) % 64)
    start = struct.pack("<8sIII", b"\x89fclf\r\n\x1a", version, len(header), zlib.crc32(arrays))
    return start + struct.pack("<I", zlib.crc32(start + header)) + header + arrays
