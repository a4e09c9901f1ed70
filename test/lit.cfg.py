# Configuration of the lit tests: what a test file is, which tools and
# substitutions it may use, and which features `REQUIRES:` may name.

import os

import lit.formats

config.name = "dsv4"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "data", "unit", "lib", "docs", "install"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))

# The tools of this build come first, then those of LLVM: FileCheck, not, count,
# split-file, mlir-opt.
config.environment["PATH"] = os.path.pathsep.join(
    [config.dsv4_tools_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
)
# Variables end at CHECK-LABEL unless named with $; a prefix without any check is
# an error.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"

config.substitutions.append(("%examples", os.path.join(config.dsv4_source_dir, "examples")))
config.substitutions.append(("%testdata", os.path.join(config.test_source_root, "data")))
config.substitutions.append(("%dsv4_lib_dir", config.dsv4_library_dir))

# Features: one per tool of this configuration, and the libraries it found.
config.available_features.update(filter(None, config.dsv4_features.split(";")))
