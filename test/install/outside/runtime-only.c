/*===- runtime-only.c - a C program that uses the installed runtime --------===*\
|*                                                                            *|
|* Part of the DSV4 project, under the Apache License v2.0 with LLVM          *|
|* Exceptions.                                                                *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "dsv4/Runtime/Runtime.h"

int main(void) { return dsv4rt_abi_version() == DSV4RT_ABI_VERSION ? 0 : 1; }
