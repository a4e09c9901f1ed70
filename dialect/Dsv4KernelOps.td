//===- Dsv4KernelOps.td - kernel launches -------------------*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_KERNEL_OPS_TD
#define DSV4_KERNEL_OPS_TD

include "Dsv4Base.td"

def Dsv4_LaunchOp : Dsv4_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                       DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "run a kernel on buffers";
  let description = [{
    The callee is a function marked `dsv4.kernel` of memrefs with static layout and of index scalars, without results. It writes
    exactly the operands whose number is in `writes` and reads the others (an init that a kernel updates is in `writes`). Buffers do not
    overlap unless they are equal. Made by `-dsv4-outline-kernels`, stays an operation until
    `-convert-dsv4-to-runtime`.

    Example:

    ```mlir
    dsv4.launch @kernel_0(%a, %b) writes [1] : memref<8xf32>, memref<8xf32>
    ```

    **Constraints**
    * (C1) `kernel` names a function marked `dsv4.kernel` with as many arguments and no results; each operand has its
      argument's shape, element type and strides (offsets may differ).
    * (C2) `writes` are memref operands.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$operands, DenseI64ArrayAttr:$writes);
  let assemblyFormat = "$kernel `(` $operands `)` `writes` $writes attr-dict (`:` type($operands)^)?";
  let hasVerifier = 1;
}

#endif // DSV4_KERNEL_OPS_TD
