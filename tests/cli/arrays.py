"""Just enough of .npy and safetensors to feed the command and read what it wrote."""
import json
import math
import pathlib
import struct

CODES = {"<f4": "f", "<f8": "d", "<f2": "e", "|i1": "b", "|u1": "B", "<i4": "i"}
TENSOR_CODES = {"F32": "f", "F64": "d", "F16": "e", "I8": "b", "U8": "B", "I32": "i"}


def pack(code, values):
    return struct.pack(f"<{len(values)}{code}", *values)


def unpack(code, data):
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


def npy_bytes(values, shape, descr="<f4", fortran=False, payload=None, version=1, header=None):
    """A .npy file; `values` in the order in which they lie."""
    if header is None:
        extents = "".join(f"{extent}, " for extent in shape)
        extents = extents[:-1] if len(shape) == 1 else extents[:-2]
        header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': ({extents}), }}\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    data = pack(CODES[descr], values) if payload is None else payload
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


def write_npy(path, values, shape, descr="<f4", **options):
    assert math.prod(shape) == len(values)
    pathlib.Path(path).write_bytes(npy_bytes(values, shape, descr, **options))
    return str(path)


def read_npy(path):
    """(descr, shape, values) of a C-order file of version 1."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack_from("<H", data, 8)
    assert (10 + length) % 64 == 0
    fields = eval(data[10:10 + length], {"__builtins__": {}})  # a literal that the test's own tool wrote
    assert fields["fortran_order"] is False
    values = unpack(CODES[fields["descr"]], data[10 + length:])
    assert len(values) == math.prod(fields["shape"])
    return fields["descr"], fields["shape"], values


def safetensors_bytes(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write_safetensors(path, tensors):
    """`tensors`: name -> (type, shape, values or bytes)."""
    header, data = {}, b""
    for name, (kind, shape, values) in tensors.items():
        block = values if isinstance(values, bytes) else pack(TENSOR_CODES[kind], values)
        header[name] = {"dtype": kind, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(block)]}
        data += block
    pathlib.Path(path).write_bytes(safetensors_bytes(header, data))
    return str(path)


def read_safetensors(path):
    """name -> (type, shape, bytes)."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    begin = 8 + length
    return {name: (entry["dtype"], entry["shape"],
                   data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]])
            for name, entry in header.items()}


def to_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def to_bf16_bits(value):
    """Rounded to nearest, ties to even; finite values only."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def from_bf16_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
