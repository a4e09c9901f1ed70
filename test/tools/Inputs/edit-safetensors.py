"""Writes a changed copy of a safetensors file, with the standard library only.

  edit-safetensors.py IN OUT nan NAME INDEX       element INDEX becomes NaN
  edit-safetensors.py IN OUT drop NAME            without the tensor
  edit-safetensors.py IN OUT rename NAME NEW      under another name
  edit-safetensors.py IN OUT flatten NAME         with one dimension
  edit-safetensors.py IN OUT set NAME INDEX INT   an element of an I64 tensor
"""

import json
import struct
import sys

NAN = {"F64": b"\x00" * 6 + b"\xf8\x7f", "F32": b"\x00\x00\xc0\x7f", "BF16": b"\xc0\x7f"}


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    return {
        name: (entry["dtype"], entry["shape"], bytearray(data[slice(*entry["data_offsets"])]))
        for name, entry in header.items()
    }


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, value) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(value)],
        }
        data += value
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def edit(tensors, what, name, *rest):
    dtype, shape, value = tensors[name]
    if what == "nan":
        width = len(NAN[dtype])
        begin = int(rest[0]) * width
        value[begin : begin + width] = NAN[dtype]
    elif what == "drop":
        del tensors[name]
    elif what == "rename":
        del tensors[name]
        tensors[rest[0]] = (dtype, shape, value)
    elif what == "flatten":
        size = 1
        for extent in shape:
            size *= extent
        tensors[name] = (dtype, [size], value)
    elif what == "set":
        begin = int(rest[0]) * 8
        value[begin : begin + 8] = struct.pack("<q", int(rest[1]))
    else:
        sys.exit("unknown edit: " + what)


tensors = read(sys.argv[1])
edit(tensors, *sys.argv[3:])
write(sys.argv[2], tensors)
