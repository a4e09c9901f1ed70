"""Write the module tree of a torch model as JSON for dsv4-translate --module-tree-to-mlir.

    dump = runpy.run_path("tools/dump-module-tree.py")["dump"]
    dump(model, "tree.json")
"""
import json

NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "i1"}


def dump(model, filename):
    def tensor(name, t, buffer):
        dtype = str(t.dtype).removeprefix("torch.")
        dtype = NAMES.get(dtype) or ("f8" if dtype.startswith("float8") else dtype.replace("uint", "i").replace("int", "i"))
        return {"name": name, "dtype": dtype, "shape": list(t.shape), "id": ids.setdefault(id(t), str(len(ids))),
                "trainable": bool(t.requires_grad), "buffer": buffer}

    def node(m):
        tensors = [tensor(n, p, False) for n, p in m.named_parameters(recurse=False, remove_duplicate=False)]
        tensors += [tensor(n, b, True) for n, b in m.named_buffers(recurse=False, remove_duplicate=False)]
        return {"class": type(m).__name__, "id": "m" + str(id(m)), "params": tensors,
                "config_model_type": getattr(getattr(m, "config", None), "model_type", None),
                "children": [[n, node(c)] for n, c in m._modules.items() if c is not None]}

    ids = {}
    with open(filename, "w") as file:
        json.dump(node(model), file)
