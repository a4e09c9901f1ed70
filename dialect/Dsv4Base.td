//===- Dsv4Base.td - dialect, types and op base class ------*- tablegen -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_BASE_TD
#define DSV4_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dsv4_Dialect : Dialect {
  let name = "dsv4";
  let cppNamespace = "::mlir::dsv4";
  let summary = "Training graphs of DeepSeek-V4 class models, partitioned over ranks";
  let description = [{
    The dialect says what upstream dialects cannot: a mesh of ranks, which
    values are split over it, collectives between ranks, FSDP units, and the few
    structured operations of the model that `linalg` does not express well.

    A program is SPMD: one function that every rank runs, with static local
    shapes. Values that differ between ranks come from `dsv4.axis_index`.

    Discardable attributes with meaning:

    | attribute | on | meaning |
    | --- | --- | --- |
    | `dsv4.batch = "name"` | function argument | a field of the batch, axis 0 is the row, axis 1 the position |
    | `dsv4.param = "path"` | function argument | a parameter, by its path in the module tree |
    | `dsv4.buffer = "path"` | function argument | a tensor that no unit owns and nobody trains |
    | `dsv4.frozen` | function argument | a parameter without gradient |
    | `dsv4.result = "name"` | function result | the name in the output file |
    | `dsv4.path = "path"` | operation | the module that the operation came from |
    | `dsv4.launch = 3` | start operation | starts with one number go to the runtime in one call |
    | `dsv4.as_stored` | `dsv4.fsdp_unit` | parameters of several storage dtypes keep their own; the gather dtype is the widest |
    | `dsv4.direction = "backward"` | operation | it computes a cotangent; `forward` when absent |
    | `dsv4.no_grad` | operation | no gradient passes it, as through the shift of a softmax |
    | `dsv4.cast = "label"` | operation | why a cast stands here: the step of the model's definition |

    Version log: 0.1 first version.
  }];
  let hasConstantMaterializer = 0;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 0;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Dsv4_Op<string mnemonic, list<Trait> traits = []> : Op<Dsv4_Dialect, mnemonic, traits>;

class Dsv4_Type<string name, string typeMnemonic> : TypeDef<Dsv4_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Dsv4_TokenType : Dsv4_Type<"Token", "token"> {
  let summary = "A collective in flight";
  let description = [{
    Made by a `start` operation, used by exactly one `dsv4.wait`. It has no
    storage: the lowering turns it into the runtime's 64-bit token.
  }];
}

/// Collectives read and write this resource, so none is dead, and none moves
/// across another.
def Dsv4_Communicator : Resource<"::mlir::dsv4::CommunicatorResource">;

#endif // DSV4_BASE_TD
