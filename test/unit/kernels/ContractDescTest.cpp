//===- ContractDescTest.cpp - Refused descriptors -------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContractReference.h"

#include <gtest/gtest.h>

extern "C" int32_t contractFromC(const dsv4rt_contract_desc *desc,
                                 const void *a, const void *b, void *c);

using namespace dsv4rt::test;

namespace {

class ContractDesc : public testing::Test {
protected:
  Desc desc = makeDesc({kF32, kF32, kF32}, 3, 4, 5);
  std::vector<float> a = std::vector<float>(15, 1.0f);
  std::vector<float> b = std::vector<float>(20, 1.0f);
  std::vector<float> c = std::vector<float>(12, 7.0f);

  void expect(int32_t status) {
    EXPECT_EQ(dsv4rt_contract(&desc, a.data(), b.data(), c.data()), status);
    EXPECT_EQ(dsv4rt_contract_portable(&desc, a.data(), b.data(), c.data()),
              status);
    if (status != DSV4RT_OK) {
      EXPECT_EQ(c, std::vector<float>(12, 7.0f)) << "C was touched";
    }
  }
};

TEST_F(ContractDesc, valid) {
  expect(DSV4RT_OK);
  EXPECT_EQ(c, std::vector<float>(12, 5.0f));
}

TEST_F(ContractDesc, valid_from_c) {
  EXPECT_EQ(contractFromC(&desc, a.data(), b.data(), c.data()), DSV4RT_OK);
  EXPECT_EQ(c, std::vector<float>(12, 5.0f));
}

TEST_F(ContractDesc, null) {
  EXPECT_EQ(dsv4rt_contract(nullptr, a.data(), b.data(), c.data()),
            DSV4RT_E_INVALID);
  EXPECT_EQ(dsv4rt_contract(&desc, nullptr, b.data(), c.data()),
            DSV4RT_E_INVALID);
  EXPECT_EQ(dsv4rt_contract(&desc, a.data(), nullptr, c.data()),
            DSV4RT_E_INVALID);
  EXPECT_EQ(dsv4rt_contract(&desc, a.data(), b.data(), nullptr),
            DSV4RT_E_INVALID);
}

TEST_F(ContractDesc, struct_size) {
  desc.struct_size -= 8;
  expect(DSV4RT_E_INVALID);
  desc.struct_size += 16;
  expect(DSV4RT_E_INVALID);
}

TEST_F(ContractDesc, accumulate) {
  desc.accumulate = 2;
  expect(DSV4RT_E_INVALID);
}

TEST_F(ContractDesc, negative_extents) {
  for (int64_t Desc::*extent : {&Desc::m, &Desc::n, &Desc::k}) {
    const int64_t valid = desc.*extent;
    desc.*extent = -1;
    expect(DSV4RT_E_INVALID);
    desc.*extent = valid;
  }
  for (int64_t &extent : desc.batch) {
    extent = -1;
    expect(DSV4RT_E_INVALID);
    extent = 1;
  }
}

TEST_F(ContractDesc, repeated_elements_of_c) {
  desc.c_m = 0;
  expect(DSV4RT_E_INVALID);
  desc.c_m = 4;
  desc.c_n = 0;
  expect(DSV4RT_E_INVALID);
  desc.c_n = 1;
  desc.batch[1] = 2;
  expect(DSV4RT_E_INVALID);
}

TEST_F(ContractDesc, empty_extents) {
  for (int64_t Desc::*extent : {&Desc::m, &Desc::n}) {
    Desc empty = desc;
    empty.*extent = 0;
    EXPECT_EQ(dsv4rt_contract(&empty, nullptr, nullptr, nullptr), DSV4RT_OK);
  }
  desc.batch[0] = 0;
  EXPECT_EQ(dsv4rt_contract(&desc, nullptr, nullptr, nullptr), DSV4RT_OK);
}

TEST_F(ContractDesc, mode_without_rule) {
  desc.mode = 1;
  expect(DSV4RT_E_UNSUPPORTED);
}

TEST_F(ContractDesc, types_without_rule) {
  const Types refused[] = {{kF64, kF32, kF64},
                           {kF64, kF64, kF32},
                           {kF32, kF32, kF64},
                           {kBF16, kBF16, kF64},
                           {kF32, kF32, DSV4RT_F16},
                           {DSV4RT_I32, kF32, kF32},
                           {kF32, DSV4RT_I1, kF32},
                           {12345, kF32, kF32},
                           {DSV4RT_F16, DSV4RT_F16, kF32}};
  for (const Types &types : refused) {
    desc.a_dtype = types.a;
    desc.b_dtype = types.b;
    desc.c_dtype = types.c;
    expect(DSV4RT_E_UNSUPPORTED);
  }
}

TEST_F(ContractDesc, unknown_engine) {
  EXPECT_EQ(
      dsv4rt_contract_with_engine(99, &desc, a.data(), b.data(), c.data()),
      DSV4RT_E_INVALID);
}

} // namespace
