"""Seeds bugs into a differentiated program; each must be found, with its message.

  verify-multiplicity.py DSV4_OPT PROGRAM

A mutation is a pattern, its replacement in the first or in all places, and what
the error says.
"""

import re
import subprocess
import sys

ONCE = "expected once"
SHARE = "has a share, expected it to be added over the axis"

MUTATIONS = [
    ("no reduction over cp", r'(?s)\["cp"\] (params.*dsv4.unshard \S+ on @mesh )\["cp"\](.*grad_reduce_scatter \S+ on @mesh )\["cp"\] replicas \["replicate"\]',
     r'["replicate"] \1["replicate"]\2["replicate"] replicas []', "axis \"cp\" " + SHARE),
    ("no reduction over replicas", r'replicas \["replicate"\]', "replicas []", "axis \"replicate\" " + SHARE),
    ("reduced over cp twice", r'( *)(%\S+) = dsv4.grad_reduce_scatter @unit_0\((%\S+)\)',
     r'\1%twice = dsv4.all_reduce sum \3 on @mesh ["cp"] {dsv4.direction = "backward"} : tensor<4x8xf32>' + "\n" + r'\1\2 = dsv4.grad_reduce_scatter @unit_0(%twice)',
     'over axis "cp" count 2 times, ' + ONCE),
    ("reduced over replicas twice", r'( *)(%\S+) = dsv4.grad_reduce_scatter @unit_0\((%\S+)\)',
     r'\1%twice = dsv4.all_reduce sum \3 on @mesh ["replicate"] {dsv4.direction = "backward"} : tensor<4x8xf32>' + "\n" + r'\1\2 = dsv4.grad_reduce_scatter @unit_0(%twice)',
     'over axis "replicate" count 2 times, ' + ONCE),
    ("reduced once more at the end", r'( *)return (%\S+), (%\S+) :',
     r'\1%again = dsv4.all_reduce sum \3 on @mesh ["replicate"] {dsv4.direction = "backward"} : tensor<16xf32>' + "\n" + r'\1return \2, %again :',
     'over axis "replicate" count 2 times, ' + ONCE),
    ("averaged over cp", r"scale 1.0+e\+00", "scale 5.0e-01", "count 0.5 times, " + ONCE),
    ("averaged over all ranks", r"scale 1.0+e\+00", "scale 2.5e-01", "count 0.25 times, " + ONCE),
    ("scaled by the number of ranks", r"scale 1.0+e\+00", "scale 4.0", "count 4 times, " + ONCE),
    ("a seed of 2", r"(arith.constant [^\n]*backward\"}) 1.0+e\+00", r"\1 2.0", "count 2 times, " + ONCE),
    ("a seed of 1/4", r"(arith.constant [^\n]*backward\"}) 1.0+e\+00", r"\1 0.25", "count 0.25 times, " + ONCE),
    ("the loss summed again", r'( *)(%\S+) = dsv4.all_reduce sum (%\S+) on @mesh \["replicate", "cp"\] : tensor<f32>',
     r'\1%first = dsv4.all_reduce sum \3 on @mesh ["replicate", "cp"] : tensor<f32>' + "\n" + r'\1\2 = dsv4.all_reduce sum %first on @mesh ["cp"] : tensor<f32>',
     'adds a value that ranks of axis "cp" hold alike, which counts it 2 times'),
    ("the loss of one half of the ranks", r'all_reduce sum (%\S+) on @mesh \["replicate", "cp"\]', r'all_reduce sum \1 on @mesh ["cp"]',
     'the loss differs between ranks of axis "replicate"'),
    ("the loss of each rank", r'all_reduce sum (%\S+) on @mesh \["replicate", "cp"\]', r'all_reduce sum \1 on @mesh []', "the loss differs between ranks"),
    ("the label count of each half", r'(?s)(.*)all_reduce sum (%\S+) on @mesh \["replicate", "cp"\]', r'\1all_reduce sum \2 on @mesh ["replicate"]',
     'the loss differs between ranks of axis "cp"'),
    ("a slice instead of a sum of keys", r"dsv4.seq_reduce_scatter", "dsv4.seq_shard", "keeps this rank's part of a gradient of which each rank"),
    ("one contribution twice", r"(%\S+), %\S+ : tensor<1x4x4xf32>, tensor<1x4x4xf32>\) (outs\(\S+ : tensor<1x4x4xf32>\) attrs)", r"\1, \1 : tensor<1x4x4xf32>, tensor<1x4x4xf32>) \2",
     "count 2 times, " + ONCE),
    ("the largest gradient", r'( *)(%\S+) = dsv4.grad_reduce_scatter @unit_0\((%\S+)\)',
     r'\1%largest = dsv4.all_reduce max \3 on @mesh ["cp"] {dsv4.direction = "backward"} : tensor<4x8xf32>' + "\n" + r'\1\2 = dsv4.grad_reduce_scatter @unit_0(%largest)',
     "combines gradients by 'max': not proven"),
]


def verify(opt, text):
    run = subprocess.run([opt, "-dsv4-verify-multiplicity"], input=text, capture_output=True, text=True)
    return run.returncode, run.stderr


def main():
    opt, path = sys.argv[1:3]
    text = open(path).read()
    code, message = verify(opt, text)
    failures = [] if code == 0 else ["a false alarm: " + message[:400]]
    count = 0
    for name, pattern, replacement, expected in MUTATIONS:
        count += 1
        mutated, changes = re.subn(pattern, replacement, text, count=1)
        if not changes or mutated == text:
            failures.append(f"{name}: the program has no such place")
            continue
        code, message = verify(opt, mutated)
        if code == 0 or expected not in message:
            failures.append(f"{name}: expected '{expected}', got {code}: {message[:400]}")
    print("\n".join(failures + [f"{count} mutations, {len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
