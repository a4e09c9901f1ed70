//===- DataType.h - Element types and what may be done with them *- C++ -*-===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DSV4_RUNTIME_DATATYPE_H
#define DSV4_RUNTIME_DATATYPE_H

#include "dsv4/Runtime/Runtime.h"

#include <string>

namespace dsv4::rt {

/// Whether `redop` over `dtype` has a rule: SUM for i32, i64 and the floats of
/// 16 bits and more; MAX and MIN for these, all integers and i1.
bool isReductionSupported(uint32_t dtype, uint32_t redop);

/// Why a site of the table cannot be executed; empty when it can.
std::string findUnsupported(const dsv4rt_site &site);

} // namespace dsv4::rt

#endif // DSV4_RUNTIME_DATATYPE_H
