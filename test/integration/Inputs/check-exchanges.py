"""Runs sequence collectives on ranks and compares every element with what the
documentation of the operations says, computed here with the standard library.

  check-exchanges.py RUN FOLDER RANKS DTYPE

One program per call: gather, halo, prefix on 0 to 3 trailing axes, and for types
that are added their transposes. Parts have 2 rows, halos reach two neighbours.
"""

import itertools
import json
import pathlib
import random
import struct
import subprocess
import sys

B, L, LEFT, RIGHT, FILL = 2, 2, 3, 1, 1
TRAILING = [(), (4,), (2, 4), (2, 1, 4)]
CODES = {"f64": ("F64", "d"), "f32": ("F32", "f"), "bf16": ("BF16", "H"), "i64": ("I64", "q"),
         "i32": ("I32", "i"), "i8": ("I8", "b"), "i1": ("BOOL", "?")}


def to_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def to_bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def round_to(dtype, value):
    return {"f32": to_f32, "bf16": to_bf16}.get(dtype, lambda v: v)(value)


def add(dtype, values):
    """In order, in f32 (f64 for f64), rounded once."""
    total = values[0]
    for value in values[1:]:
        total = to_f32(total + value) if dtype in ("f32", "bf16") else total + value
    return round_to(dtype, total)


def make(dtype, generator, count):
    if dtype == "i1":
        return [generator.random() < 0.5 for _ in range(count)]
    if dtype[0] == "i":
        return [generator.randrange(-99, 99) for _ in range(count)]
    # Magnitudes far apart, so that the order of sums shows.
    return [round_to(dtype, generator.uniform(-1, 1) * 10 ** generator.randrange(5)) for _ in range(count)]


def encode(dtype, values):
    if dtype == "bf16":
        values = [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values]
    return struct.pack(f"<{len(values)}{CODES[dtype][1]}", *values)


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, value) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(value)]}
        data += value
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    return {n: data[slice(*e["data_offsets"])] for n, e in header.items() if n != "__metadata__"}


class Case:
    """Local values are dictionaries from (b, row, trailing index)."""

    def __init__(self, dtype, ranks, trailing):
        self.dtype, self.ranks, self.trailing = dtype, ranks, trailing
        self.inner = list(itertools.product(*map(range, trailing)))
        self.last = trailing[-1] if trailing else None

    def type(self, rows):
        return "tensor<" + "x".join(map(str, (B, rows) + self.trailing)) + f"x{self.dtype}>"

    def split(self, values, rows):
        """Global values in row-major order to one dictionary per rank."""
        keys = itertools.product(range(B), range(rows * self.ranks), self.inner)
        parts = [{} for _ in range(self.ranks)]
        for (b, row, inner), value in zip(keys, values):
            parts[row // rows][b, row % rows, inner] = value
        return parts

    def join(self, parts, rows):
        return [parts[row // rows][b, row % rows, inner]
                for b in range(B) for row in range(rows * self.ranks) for inner in self.inner]

    def is_received(self, inner, channels):
        return not channels or channels[0] <= inner[-1] < sum(channels)

    def gather(self, parts):
        full = {(b, r * L + i, n): v for r, part in enumerate(parts) for (b, i, n), v in part.items()}
        return [full] * self.ranks

    def prefix(self, parts):
        return [{key: value if key[1] < (rank + 1) * L else 0 for key, value in full.items()}
                for rank, full in enumerate(self.gather(parts))]

    def halo(self, parts, channels=None):
        full = self.gather(parts)[0]
        def at(rank, b, i, n):
            row = rank * L + i - LEFT
            own = 0 <= i - LEFT < L
            return full.get((b, row, n), FILL) if own or self.is_received(n, channels) else FILL
        return [{(b, i, n): at(rank, b, i, n) for b in range(B) for i in range(LEFT + L + RIGHT)
                 for n in self.inner} for rank in range(self.ranks)]

    def halo_add(self, parts, channels=None):
        def terms(owner, b, row, n):
            for rank, part in enumerate(parts):
                i = (owner - rank) * L + row + LEFT
                if rank == owner or self.is_received(n, channels):
                    if 0 <= i < LEFT + L + RIGHT:
                        yield part[b, i, n]
        return [{(b, row, n): add(self.dtype, list(terms(owner, b, row, n))) for b in range(B)
                 for row in range(L) for n in self.inner} for owner in range(self.ranks)]

    def prefix_add(self, parts, first=None):
        return [{(b, row, n): add(self.dtype, [parts[rank][b, owner * L + row, n]
                                               for rank in range(owner if first is None else first, self.ranks)])
                 for b in range(B) for row in range(L) for n in self.inner} for owner in range(self.ranks)]

    def reduce_scatter(self, parts):
        return self.prefix_add(parts, first=0)


def build(dtype, ranks, generator):
    """The program, its batch, and the expected results."""
    arguments, results, body, batch, expected = [], [], [], {}, {}
    extended, full = LEFT + L + RIGHT, ranks * L
    is_float = dtype[0] in "bf"
    fill = {"f": f"{FILL}.0 : {dtype}", "b": f"{FILL}.0 : {dtype}"}.get(dtype[0], f"{FILL} : {dtype}")
    fill = "true" if dtype == "i1" else fill
    for number, trailing in enumerate(TRAILING):
        case = Case(dtype, ranks, trailing)
        layout = "[[], [\"cp\"]" + ", []" * len(trailing) + "]"
        def describe(kind, name, rows):
            return f"{{dsv4.{kind} = \"{name}\", dsv4.layout = {layout}, dsv4.global_type = {case.type(rows * ranks)}}}"
        def add_argument(name, rows):
            name = f"{name}{number}"
            values = make(dtype, generator, B * rows * ranks * len(case.inner))
            batch[name] = (CODES[dtype][0], [B, rows * ranks, *trailing], encode(dtype, values))
            arguments.append(f"%{name}: {case.type(rows)} {describe('batch', name, rows)}")
            return case.split(values, rows)
        def add_result(name, argument, op, rows_in, rows, parts):
            name = f"{name}{number}"
            body.append(f"  %{name} = dsv4.{op} : {case.type(rows_in)} -> {case.type(rows)}".replace("$", f"%{argument}{number} on @mesh [\"cp\"] dim 1"))
            results.append((f"%{name}", case.type(rows), f"{case.type(rows)} {describe('result', name, rows)}"))
            expected[name] = encode(dtype, case.join(parts, rows))
        own = add_argument("x", L)
        sides = f"left {LEFT} right {RIGHT}"
        add_result("gather", "x", "seq_gather $" + " differentiable" * is_float, L, full, case.gather(own))
        add_result("prefix", "x", "seq_prefix $", L, full, case.prefix(own))
        add_result("halo", "x", f"seq_halo $ {sides} fill {fill}", L, extended, case.halo(own))
        if trailing:
            add_result("part", "x", f"seq_halo $ {sides} channels [1, 2] fill {fill}", L, extended, case.halo(own, (1, 2)))
        if dtype in ("i8", "i1"):
            continue
        wide, whole = add_argument("w", extended), add_argument("f", full)
        add_result("halo_add", "w", f"seq_halo_add $ {sides}", extended, L, case.halo_add(wide))
        if trailing:
            add_result("part_add", "w", f"seq_halo_add $ {sides} channels [1, 2]", extended, L, case.halo_add(wide, (1, 2)))
        add_result("prefix_add", "f", "seq_prefix_add $", full, L, case.prefix_add(whole))
        add_result("scatter", "f", "seq_reduce_scatter $", full, L, case.reduce_scatter(whole))
    program = "\n".join([
        "module attributes {dsv4.phase = \"parameters\"} {", f"dsv4.mesh @mesh [\"cp\" = {ranks}]",
        f"func.func @main({', '.join(arguments)}) -> ({', '.join(r[2] for r in results)}) {{", *body,
        f"  return {', '.join(r[0] for r in results)} : {', '.join(r[1] for r in results)}", "}", "}"])
    return program, batch, expected


def main():
    run, folder, ranks, dtype = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    program, batch, expected = build(dtype, ranks, random.Random(1))
    (folder / "program.mlir").write_text(program)
    write(folder / "batch.st", batch)
    subprocess.run([run, folder / "program.mlir", f"--batch={folder / 'batch.st'}",
                    f"--output={folder / 'out.st'}"], check=True)
    results = read(folder / "out.st")
    wrong = [name for name, value in expected.items() if results.get(name) != value]
    print(f"{ranks} ranks, {dtype}: {len(expected) - len(wrong)} equal, {len(wrong)} different {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
