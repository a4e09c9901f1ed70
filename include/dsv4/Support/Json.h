//===- Json.h - Strict JSON for files of unknown origin ---------*- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's parser keeps the last of several equal keys and recurses once per
// nesting level. A configuration with two values for one key, or a file of a
// million brackets, must be an error instead.
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_SUPPORT_JSON_H
#define DSV4_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace mlir::dsv4 {

/// Parses `text`, whose top level must be an object. Refuses duplicate keys in
/// any object, nesting deeper than 64 levels and whatever is not JSON. Errors
/// begin with `filename`.
llvm::Expected<llvm::json::Object> parseJsonObject(llvm::StringRef text,
                                                   llvm::StringRef filename);

/// Text for the "got" part of a message: scalars as JSON, at most 40
/// characters; "an array of N elements" and "an object" for the rest.
std::string describeJson(const llvm::json::Value &value);

} // namespace mlir::dsv4

#endif // DSV4_SUPPORT_JSON_H
