//===- Passes.td - passes of the DSV4 pipeline --------------*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_PASSES_TD
#define DSV4_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

def DeclareMeshPass : Pass<"dsv4-declare-mesh", "::mlir::ModuleOp"> {
  let summary = "Declare the mesh that the program is compiled for";
  let description = [{
    Adds `dsv4.mesh @mesh`. `mesh=dp_shard:2,cp:4` names axes from outer to inner; an empty option
    declares a mesh of one rank. A module that already declares `@mesh` with the same axes is left alone, with other axes it is an error.
    Axes are `replicate`, `dp_shard` and `cp`; `ep` is refused by name.
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", /*default=*/"\"\"",
           "axes and sizes from outer to inner, as in \"dp_shard:2,cp:4\"; empty means one rank">
  ];
  let dependentDialects = ["::mlir::dsv4::Dsv4Dialect"];
}

def PlanFsdpUnitsPass : Pass<"dsv4-plan-fsdp-units", "::mlir::ModuleOp"> {
  let summary = "Group parameters into FSDP units and fp32 islands";
  let description = [{
    Adds one `dsv4.fsdp_unit` symbol per unit, `@unit_0` and so on behind the mesh: every fp32 island (by
    the suffix table of the model's FSDP rules, if all its floats are f32, or all f64), every block, the embedding,
    the head and the root. Units own parameters in registration order, which is the order of arguments; islands come
    before their block, the root is last. Buffers belong to no unit.

    A unit is gathered in the dtype that its parameters are stored in, or in `param-dtype`; in a unit of
    several storage dtypes each parameter keeps its own, and the unit carries `dsv4.as_stored` next to the widest. Gradients are
    added in f32, or f64 where a parameter is f64.

    Runs on model IR with a mesh: classes of `dsv4.module` regions name the blocks, where there are none the
    names of parameters do.
  }];
  let options = [
    Option<"fsdpAxes", "fsdp-axes", "std::string", /*default=*/"\"\"",
           "mesh axes that parameters are sharded over, comma separated; the default is dp_shard and cp, flattened">,
    Option<"paramDtype", "param-dtype", "std::string", /*default=*/"\"as-stored\"",
           "dtype in which units that are no islands are gathered: as-stored, bf16, f32, f64">,
    Option<"ignoredParams", "ignored-params", "std::string", /*default=*/"\"\"",
           "parameters that belong to no unit: runs of whole path components such as mlp.experts, comma separated">,
    Option<"reduceDtype", "reduce-dtype", "std::string", /*default=*/"\"f32\"",
           "dtype in which gradients of a module tree are added; empty means the gather dtype">,
    Option<"outputDtype", "output-dtype", "std::string", /*default=*/"\"\"",
           "dtype that outputs of a module tree's units are cast to; empty means no cast">,
    Option<"castInputs", "cast-inputs", "bool", /*default=*/"true",
           "cast floating inputs of a module tree's units to the gather dtype">,
    Option<"reshardAfterForward", "reshard-after-forward", "std::string", /*default=*/"\"\"",
           "true, false or a number of ranks for a module tree's units; empty leaves it open">,
    Option<"calls", "calls", "std::string", /*default=*/"\"\"",
           "modules of a module tree to shard, in order: paths separated by ';', joined by '+' where several are one unit; "
           "the default is every block, every module named embed_tokens and the root">,
    Option<"referenceRawPaths", "reference-raw-paths", "bool", /*default=*/"false",
           "keep the reference's behaviour: names of wrappers take part in the suffix table">,
    Option<"referenceFirstPath", "reference-first-path", "bool", /*default=*/"false",
           "keep the reference's behaviour: a shared module is known by its first path only">,
    Option<"referenceWrappedClass", "reference-wrapped-class", "bool", /*default=*/"false",
           "keep the reference's behaviour: a module that is a unit is no longer known by its class">,
    Option<"referenceNoVerify", "reference-no-verify", "bool", /*default=*/"false",
           "keep the reference's behaviour: plans of a module tree are not verified">
  ];
  let dependentDialects = ["::mlir::dsv4::Dsv4Dialect"];
}

def ReportUnitsPass : Pass<"dsv4-report-units", "::mlir::ModuleOp"> {
  let summary = "Print the bytes of every FSDP unit";
  let description = [{
    Prints one line per unit with the bytes that are stored, gathered and reduced, the padding over all ranks, dtypes
    and when the unit is alive, and a line of totals. Bytes are at factor 1 and without padding, which has a
    column of its own; frozen parameters are gathered and not reduced. A parameter without a shape is an error.

    Runs after `-dsv4-plan-fsdp-units` and changes nothing.
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"\"text\"", "form of the report: text or json">,
    Option<"output", "output", "std::string", /*default=*/"\"-\"", "file of the report; - is standard error">
  ];
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

def ApplyPrecisionPass : Pass<"dsv4-apply-precision", "::mlir::ModuleOp"> {
  let summary = "Make casts at unit borders explicit";
  let description = [{
    A parameter whose stored dtype differs from its unit's gather dtype is cast where it enters the graph. These
    casts get the label `dsv4.cast = "policy"`. A graph that uses such a parameter in another way than through an elementwise
    cast to the gather dtype computes with the stored dtype, which contradicts the policy and is an error.

    Runs after `-dsv4-plan-fsdp-units`. With `param-dtype=as-stored` there is nothing to do.
  }];
}

def InlineModulesPass : Pass<"dsv4-inline-modules", "::mlir::ModuleOp"> {
  let summary = "Replace module regions by their operations";
  let description = [{
    Every operation keeps the path of its innermost module as `dsv4.path`, so later passes see one flat
    function and still know what belongs together.
  }];
  let dependentDialects = ["::mlir::dsv4::Dsv4Dialect"];
}

//===----------------------------------------------------------------------===//
// Sequence and batch
//===----------------------------------------------------------------------===//

def PrintLayoutPass : Pass<"dsv4-print-layout", "::mlir::ModuleOp"> {
  let summary = "Print the layout that the analysis gives to every value";
  let description = [{
    One remark per tensor, with the set of mesh axes that split each dimension, and one per decision:

    ```
    layout [] partial {"cp"}: all_reduce sum      each rank has a part of the sum
    operand 1: gather dimension 1 over {"cp"}     the operation needs all of it
    operand 1: slice dimension 0 over {"cp"}      every rank has all of it and needs its part
    operand 0: made again with layout ...         an empty, constant or index tensor of another size
    index of loop 0: add 32 per rank of {"cp"}    local indices become global
    ```

    Changes nothing. Runs where `-dsv4-partition-sequence` runs and reports the same errors.
  }];
}

def ReportBalancePass : Pass<"dsv4-report-balance", "::mlir::ModuleOp"> {
  let summary = "Print the attention work of every rank under two splits";
  let description = [{
    Counts for each kind of layer and each rank of `cp`, per row of the batch and head: the area, pairs of a query and a key or
    pooled row that it attends to; the scores, pairs of a query and a window that the indexer scores; and the halo, bytes of
    neighbouring keys and windows that the rank receives. Each number stands for the contiguous split and, behind the arrow, for
    the zig-zag split, where rank p holds the chunks p and 2P-1-p of 2P:

    ```
    HCA, 1 layer, most over mean; area 1.16 -> 1.05; halo bytes of all ranks 448 -> 896
      rank 0; area 246 -> 278; halo bytes 0 -> 448
      rank 1; area 338 -> 306; halo bytes 448 -> 448
    ```

    Pooled rows of lower ranks are not part of the halo. Changes nothing; the split stays contiguous. Runs on whole sequences: after
    `-dsv4-declare-mesh`, before `-dsv4-inline-modules`.
  }];
}

def PartitionSequencePass : Pass<"dsv4-partition-sequence", "::mlir::ModuleOp"> {
  let summary = "Give every value its local shape";
  let description = [{
    Rows of the batch are split over `replicate` and `dp_shard`, positions over `cp`; parameters and buffers stay whole.
    Layouts follow the operations in both directions. Where an operation needs all of a split dimension a
    `dsv4.seq_gather` is inserted, one for all uses of a value; where a sum runs over a split dimension a `dsv4.all_reduce`;
    where every rank has all of a value and needs its part a `dsv4.seq_shard`. Indices become global by adding where this rank's part begins.

    ```mlir
    %o = dsv4.window_attention ... ins(%q, %k, %s, %c0, %c0 : tensor<2x64x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>) ...
    // ["cp" = 2]:
    %g = dsv4.seq_gather %k on @mesh ["cp"] dim 1 differentiable : tensor<2x32x8xf32> -> tensor<2x64x8xf32>
    %r = dsv4.axis_index @mesh ["cp"]
    %b = arith.muli %r, %c32 : index
    %t0 = arith.addi %c0, %b : index
    %o = dsv4.window_attention ... ins(%q, %g, %s, %t0, %c0 : tensor<2x32x4x8xf32>, tensor<2x64x8xf32>, tensor<4xf32>) ...
    ```

    Arguments and results keep `dsv4.layout` and `dsv4.global_type`. Positions must divide into whole windows on each rank; the
    error names the layer and the smallest legal length. Rows need not divide: the last ranks hold padding, which a remark counts and the
    caller fills (id 0, label -100), so that sums over labels do not see it.

    Nothing is replicated silently: a conflict or an unknown operation is an error that names the operation, the dimension and the uses, and leaves the IR as it was.
    Runs once, after `-dsv4-inline-modules`.
  }];
  let dependentDialects = ["::mlir::dsv4::Dsv4Dialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

def ShardParametersPass : Pass<"dsv4-shard-parameters", "::mlir::ModuleOp"> {
  let summary = "Store each unit as flat shards and gather it once";
  let description = [{
    Replaces parameter arguments by one flat shard argument per unit, storage dtype and frozen or not, behind
    all other arguments. A shard argument says `dsv4.shard = @unit`, its `dsv4.buffer_index` there, and `dsv4.frozen`; the
    segment table is `buffers` of the unit. One `dsv4.unshard` per unit stands before the first operation that uses
    a parameter of it; a unit without uses is stored, but never gathered.

    A flat buffer holds its parameters in the order of the unit, each start aligned to 64 bytes. A rank owns an
    equal slice, rounded up to 64 bytes.

    Runs on local shapes after `-dsv4-partition-sequence`, on a function of one block without callers.
  }];
  let dependentDialects = ["::mlir::dsv4::Dsv4Dialect"];
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

def DifferentiatePass : Pass<"dsv4-differentiate", "::mlir::ModuleOp"> {
  let summary = "Add the gradients of the loss to its function";
  let description = [{
    Reverse mode over the function with the result "loss", by the rule of each operation: after it the function also returns a gradient for each
    parameter (`dsv4.result = "grad/NAME"`) or shard (`"grad"` with `dsv4.shard` and `dsv4.buffer_index`) that is not frozen. Backward operations carry
    the module path of what they transpose and `dsv4.direction = "backward"`.

    ```mlir
    %y = linalg.generic ... ins(%x, %w) { mulf, addf }        // y(b,o) += x(b,i) * w(o,i)
    ->
    %dw = linalg.generic ... ins(%x, %dy) { mulf, addf }      // dw(o,i) += x(b,i) * dy(b,o)
    ```

    Integers and booleans carry no gradient, nor does what is marked `dsv4.no_grad`. An operation without rule between the loss and a parameter is an error that
    names the path; so is a parameter that is not frozen and has no path, and whatever would silently give zero: a float tensor read inside a region, a
    reduction other than a sum, several results. Nothing is changed then.

    Runs on local shapes, on a function of one block, once.
  }];
  let dependentDialects = ["::mlir::dsv4::Dsv4Dialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def ScheduleCollectivesPass : Pass<"dsv4-schedule-collectives", "::mlir::ModuleOp"> {
  let summary = "Split collectives into start and wait";
  let description = [{
    Parameter gathers start `prefetch-depth` blocks ahead of the block that first uses them; sequence exchanges start where
    their operand is ready and wait before their first use. The order of starts is the program's order, the same on all ranks.
  }];
  let options = [
    Option<"prefetchDepth", "prefetch-depth", "int64_t", /*default=*/"1",
           "how many blocks ahead of its first use a unit is gathered; 0 gathers at the use">
  ];
  let dependentDialects = ["::mlir::dsv4::Dsv4Dialect", "::mlir::tensor::TensorDialect", "::mlir::linalg::LinalgDialect"];
}

//===----------------------------------------------------------------------===//
// Lower
//===----------------------------------------------------------------------===//

def OutlineBlocksPass : Pass<"dsv4-outline-blocks", "::mlir::ModuleOp"> {
  let summary = "Make equal blocks of the model one function";
  let description = [{
    The operations of one block form a contiguous run; equal runs become one private function that is called
    once per block. Everything after this pass costs time per kind of block, not per block.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::func::FuncDialect", "::mlir::tensor::TensorDialect"];
}

def BufferizePass : Pass<"dsv4-bufferize", "::mlir::ModuleOp"> {
  let summary = "Turn tensors into buffers";
  let description = [{
    One-Shot Bufferize with function boundaries and identity layouts, after every destination got its own
    `tensor.empty`. Results of functions become arguments; the public function writes its results in place.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect"];
}

def OutlineKernelsPass : Pass<"dsv4-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Make each distinct operation on buffers one kernel";
  let description = [{
    Every `linalg` or structured operation on buffers becomes a `dsv4.launch` of a private function marked `dsv4.kernel`; equal
    operations share one.
  }];
  let dependentDialects = ["::mlir::dsv4::Dsv4Dialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def PlanArenaPass : Pass<"dsv4-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Place every buffer in one arena";
  let description = [{
    Intervals of last use over straight-line code, packed greedily by size; first each block's scratch, then the values of
    the main function, where a call occupies its block's scratch. Replaces `memref.alloc` by `memref.view` of an arena argument.
    The peak is `dsv4.work_bytes` on the public function, next to the lower bound `dsv4.work_bytes_lower_bound`
    and `dsv4.work_buffers`: offset and bytes of every buffer in the arena, those of called functions included.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def DecomposePass : Pass<"dsv4-decompose", "::mlir::ModuleOp"> {
  let summary = "Rewrite kernels as loops";
  let description = [{
    In functions marked `dsv4.kernel`, every structured or `linalg` operation on buffers becomes loops of upstream
    operations: contractions are one fma chain per element over ascending k (large ones a call of the runtime's kernel table, whose
    descriptors become constants of the module), row reductions use 32 lanes and a halves tree. Mathematics stays `math` operations.

    An operation that needs scratch memory takes it from the kernel's last argument, a `memref<Nxi8>` marked `dsv4.workspace`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerKernelsPass : Pass<"dsv4-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into LLVM functions of bare pointers";
  let description = [{
    Functions marked `dsv4.kernel` become `llvm.func`: one pointer without aliases for each memref, i64 for each index, never inlined.
    Mathematics becomes polynomials, bf16 becomes integer code. Other functions are left alone.

    Runs after `-dsv4-decompose`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertDsv4ToRuntimePass : Pass<"convert-dsv4-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Turn launches and collectives into calls of the runtime";
  let description = [{
    The public function becomes `dsv4_step(module, state, work) -> status` in the LLVM dialect: buffers are pointers into two arenas,
    a launch is a call of its kernel, a collective a call of the runtime's C ABI followed by a status check.
    The tables that the runtime needs (axes, groups, sites, arguments) become attributes of the module.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// Verify
//===----------------------------------------------------------------------===//

def VerifyMultiplicityPass : Pass<"dsv4-verify-multiplicity", "::mlir::ModuleOp"> {
  let summary = "Prove that every contribution to a gradient counts once";
  let description = [{
    Counts for each gradient, axis by axis, how often the paths from the loss through the tokens of a rank enter: a gradient is *whole* (every rank has all
    paths), or a *share* (each path is on one rank) until a sum over the axis makes it whole; a sum of what ranks already hold alike counts it once per rank. A missing
    or doubled reduction, a factor, or a loss that is not the same on all ranks is an error at the first operation where the count goes wrong; what cannot be decided
    ends in `not proven`.

    Runs on a differentiated program before its collectives are scheduled. It does not look at which rows of a buffer an operation reads: paths inside one rank are
    taken to be what the differentiation rules say.

    ```mlir
    %s = dsv4.grad_reduce_scatter @unit_0(%g) on @mesh ["cp"] ...   // share 1 -> whole 1
    %t = dsv4.all_reduce sum %g on @mesh ["cp"] : tensor<8xf32>     // whole 1 -> whole 2 on two ranks: an error
    ```
  }];
  let options = [Option<"print", "print", "bool", "false", "one remark for each function that is proven">];
}

def VerifyPhasePass : Pass<"dsv4-verify-phase", "::mlir::ModuleOp"> {
  let summary = "Check which operations may exist after a phase";
  let description = [{
    An operation that should be gone, or a value that no later phase can handle, is a located error. On success the module
    carries `dsv4.phase`. From `sequence` to `schedule` a collective under a branch or loop that ranks of its group may decide
    differently is an error too.

    | phase | what holds after it |
    |---|---|
    | `plan` | there is a mesh, and every parameter is in exactly one unit |
    | `precision` | no `dsv4.module`; every cast of a float tensor has a label; scalars narrower than 32 bits are only cast, compared and selected |
    | `sequence` | every tensor argument of the model's function has a layout |
    | `parameters` | no whole parameters; at most one `dsv4.unshard` per unit |
    | `backward` | the same; at most one `dsv4.grad_reduce_scatter` per unit |
    | `schedule` | no blocking collectives on tensors; every token is waited for once |
    | `lower` | outside kernels: launches, starts and waits on buffers, views, index arithmetic, calls |
    | `codegen` | of this dialect only the mesh and the units |
  }];
  let options = [
    Option<"phase", "phase", "std::string", /*default=*/"\"\"", "the phase that has just run">
  ];
}

#endif // DSV4_PASSES_TD
