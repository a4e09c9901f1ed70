/*===- KernelsHeader.c - The header is C11 ---------------------------------===*
 *
 * Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*/

#include "dsv4/Runtime/Kernels.h"

_Static_assert(sizeof(dsv4rt_contract_desc) == 192,
               "layout is part of the ABI");

int32_t contractFromC(const dsv4rt_contract_desc *desc, const void *a,
                      const void *b, void *c);

int32_t contractFromC(const dsv4rt_contract_desc *desc, const void *a,
                      const void *b, void *c) {
  return dsv4rt_contract(desc, a, b, c);
}
