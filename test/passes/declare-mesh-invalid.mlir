// Text of the option.
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp:0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp:-2" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp:two" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp:2x" 2>&1 | FileCheck %s --check-prefix=TAIL
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp:" 2>&1 | FileCheck %s --check-prefix=NOSIZE
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp" 2>&1 | FileCheck %s --check-prefix=NOCOLON
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp:99999999999999999999999999" 2>&1 | FileCheck %s --check-prefix=OVERFLOW
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=dp_shard:256,cp:512" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=dp_shard:65536,cp:65536,replicate:65536" 2>&1 | FileCheck %s --check-prefix=PRODUCT
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=tp:2" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=dp_shard:2,ep:2" 2>&1 | FileCheck %s --check-prefix=EP
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp:2,cp:2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=dp_shard:2,,cp:2" 2>&1 | FileCheck %s --check-prefix=PIECE
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=cp:2," 2>&1 | FileCheck %s --check-prefix=PIECE
// RUN: not dsv4-opt %s -dsv4-declare-mesh="mesh=:2" 2>&1 | FileCheck %s --check-prefix=NONAME

// Against what the module declares.
// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-declare-mesh="mesh=dp_shard:2,cp:4"

// ZERO: error: size of axis "cp" must be at least 1, got 0{{$}}
// NEGATIVE: error: size of axis "cp" must be at least 1, got -2{{$}}
// WORD: error: size of axis "cp" must be a number, got "two"{{$}}
// TAIL: error: size of axis "cp" must be a number, got "2x"{{$}}
// NOSIZE: error: size of axis "cp" must be a number, got ""{{$}}
// NOCOLON: error: 'mesh' must list axes as "name:size", got "cp"{{$}}
// OVERFLOW: error: size of axis "cp" must be at most 65536, got 99999999999999999999999999{{$}}
// RANKS: error: 'mesh' must have at most 65536 ranks, got "dp_shard:256,cp:512"{{$}}
// PRODUCT: error: 'mesh' must have at most 65536 ranks, got "dp_shard:65536,cp:65536,replicate:65536"{{$}}
// UNKNOWN: error: axis must be one of "replicate", "dp_shard", "cp", got "tp"{{$}}
// EP: error: axis "ep" is not supported: routed experts are sharded like all other parameters{{$}}
// TWICE: error: axis "cp" is listed twice{{$}}
// PIECE: error: 'mesh' must list axes as "name:size", got ""{{$}}
// NONAME: error: axis must be one of "replicate", "dp_shard", "cp", got ""{{$}}
module {
}

// -----

// Same axes in another order are another mesh.

module {
  // expected-error @below {{'dsv4.mesh' op declares "cp:4,dp_shard:2", which differs from 'mesh', got "dp_shard:2,cp:4"}}
  dsv4.mesh @mesh ["cp" = 4, "dp_shard" = 2]
}

// -----

module {
  // expected-error @below {{'dsv4.mesh' op declares "", which differs from 'mesh', got "dp_shard:2,cp:4"}}
  dsv4.mesh @mesh []
}

// -----

module {
  // expected-error @below {{symbol @mesh must be a dsv4.mesh, got 'func.func'}}
  func.func private @mesh()
}
