//===- ModuleTreeFile.h - module trees as JSON -----------------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   node   = {"class": "DeepseekV4Block", "config_model_type": null,
//             "params": [tensor, ...], "children": [["attn_hc", node], ...]}
//   tensor = {"name": "fn", "dtype": "f32", "shape": [24, 256],
//             "trainable": true, "buffer": false}
//          | ["fn", "f32", "id"]
//
// A node or tensor that occurs at several places has the same "id" at each.
// "config_model_type", "shape", "trainable", "buffer" and "id" may be absent.
// tools/dump-module-tree.py writes such a file.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_FRONTEND_MODULETREEFILE_H
#define DSV4_FRONTEND_MODULETREEFILE_H

#include "dsv4/Analysis/FsdpPartition.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mlir::dsv4 {

/// Reads one node, or an array of nodes of which each is a root. Errors name
/// the module.
llvm::Expected<FsdpModuleTree> readModuleTree(const llvm::json::Value &node);

/// Reads a file whose top level is a node.
llvm::Expected<FsdpModuleTree> readModuleTreeFile(llvm::StringRef filename);

/// The units as JSON: modules and params by id, policy, reshard_after_forward
/// and ignored as the calls of fully_shard have them.
llvm::json::Array getPlanJson(const FsdpModuleTree &tree,
                              const FsdpPartition &partition);

} // namespace mlir::dsv4

#endif // DSV4_FRONTEND_MODULETREEFILE_H
