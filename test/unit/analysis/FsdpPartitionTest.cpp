//===- FsdpPartitionTest.cpp - plans of module trees and refusals ---------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/FsdpPartition.h"

#include "gtest/gtest.h"

using namespace mlir::dsv4;

namespace {

/// A tree that is written down module by module; parents come first.
struct TreeBuilder {
  FsdpModuleTree tree;

  unsigned add(std::string className, int parent = -1, std::string name = "") {
    unsigned index = tree.modules.size();
    FsdpTreeModule &module = tree.modules.emplace_back();
    module.className = std::move(className);
    if (parent >= 0) {
      std::string above = tree.modules[parent].path;
      module.path = above.empty() ? name : above + "." + name;
      tree.modules[parent].children.push_back({name, index});
    }
    module.id = module.path;
    return index;
  }
  unsigned addTensor(unsigned module, std::string dtype,
                     std::string name = "weight") {
    std::string above = tree.modules[module].path;
    std::string path = above.empty() ? name : above + "." + name;
    unsigned index = tree.tensors.size();
    tree.tensors.push_back({path, path, std::move(dtype), std::nullopt});
    tree.modules[module].tensors.push_back({name, index});
    return index;
  }
};

FsdpRequest makeRequest(std::vector<FsdpCall> calls) {
  FsdpRequest request;
  request.calls = std::move(calls);
  request.policy = FsdpPolicy{"bf16", "f32", "bf16", true};
  request.mesh = {8};
  return request;
}

std::vector<std::string> getRefusals(const FsdpModuleTree &tree,
                                     const FsdpRequest &request) {
  std::vector<std::string> texts;
  for (const FsdpRefusal &refusal :
       FsdpPartition::compute(tree, request).verify())
    texts.push_back(refusal.code + ": " + refusal.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(FsdpPartition, PathsLoseTheNamesOfWrappers) {
  EXPECT_EQ(getCanonicalPath("a._checkpoint_wrapped_module.b._orig_mod"),
            "a.b");
  EXPECT_EQ(getCanonicalPath("_checkpoint_wrapped_module"), "");
  EXPECT_EQ(getCanonicalPath("a.my_orig_mod"), "a.my_orig_mod");
}

TEST(FsdpPartition, IslandsComeBeforeTheirBlock) {
  TreeBuilder t;
  unsigned block = t.add("DeepseekV4Block");
  unsigned wrapper = t.add("CheckpointWrapper", block, "self_attn");
  unsigned attn = t.add("DeepseekV4Attention", wrapper,
                        "_checkpoint_wrapped_module");
  unsigned wq = t.add("Linear", attn, "wq_a");
  t.addTensor(wq, "bf16");
  unsigned sinks = t.add("DeepseekV4FP32Parameter", attn, "sinks_param");
  t.addTensor(sinks, "f32");
  FsdpRequest request = makeRequest({{{block}}});
  FsdpPartition partition = FsdpPartition::compute(t.tree, request);
  std::string text;
  llvm::raw_string_ostream os(text);
  partition.print(os);
  EXPECT_EQ(text, "unit 0: island param f32 reduce f32 output f32 parameters 1 "
                  "roots self_attn.sinks_param\n"
                  "unit 1: param bf16 reduce f32 output bf16 parameters 1 "
                  "roots <root>\n");
  EXPECT_EQ(getRefusals(t.tree, request), Texts());
  request.referenceRawPaths = true; // T17: the wrapper hides the island
  EXPECT_EQ(FsdpPartition::compute(t.tree, request).getUnits().size(), 1u);
}

TEST(FsdpPartition, HcaUnitsAreThoseOfCompressorsWithoutIndexer) {
  for (bool hasIndexer : {false, true}) {
    TreeBuilder t;
    unsigned block = t.add("DeepseekV4Block");
    t.addTensor(block, "bf16");
    unsigned attn = t.add("DeepseekV4Attention", block, "self_attn");
    unsigned compressor = t.add("DeepseekV4Compressor", attn, "compressor");
    t.addTensor(t.add("Linear", compressor, "wkv"), "f32");
    if (hasIndexer)
      t.add("DeepseekV4Indexer", compressor, "indexer");
    FsdpRequest request = makeRequest({{{block}}});
    FsdpPartition partition = FsdpPartition::compute(t.tree, request);
    ASSERT_EQ(partition.getUnits().size(), 2u);
    EXPECT_EQ(partition.getUnits()[0].alignsHca, !hasIndexer);
    EXPECT_FALSE(partition.getUnits()[1].alignsHca);
  }
}

TEST(FsdpPartition, DtypesOfOneUnit_E01) {
  TreeBuilder t;
  unsigned block = t.add("DeepseekV4Block");
  t.addTensor(t.add("Linear", block, "wq"), "bf16");
  unsigned norm = t.addTensor(t.add("Norm", block, "norm"), "f32");
  FsdpRequest request = makeRequest({{{block}}});
  EXPECT_EQ(
      getRefusals(t.tree, request),
      Texts{"FS-E01: parameter \"norm.weight\" is f32, but \"wq.weight\" of the "
            "same unit is bf16, expected one dtype; store it in the dtype of "
            "the others, list it in 'ignored-params' or make a module that "
            "holds it a unit"});
  request.ignored = std::vector<unsigned>{norm}; // the advice works
  EXPECT_EQ(getRefusals(t.tree, request), Texts());
  request.ignored.reset();
  t.tree.tensors[norm].isTrainable = false; // in a buffer of its own
  EXPECT_EQ(getRefusals(t.tree, request), Texts());
}

TEST(FsdpPartition, RanksOfReshard_E02) {
  TreeBuilder t;
  unsigned linear = t.add("Linear");
  t.addTensor(linear, "bf16");
  FsdpRequest request = makeRequest({{{linear}}});
  request.mesh = {2, 8};
  request.reshard = {FsdpReshard::Ranks, 4};
  EXPECT_EQ(getRefusals(t.tree, request), Texts());
  request.reshard.ranks = 3;
  EXPECT_EQ(getRefusals(t.tree, request),
            Texts{"FS-E02: 'reshard-after-forward' must be true, false or a "
                  "divisor of the 8 ranks of the shard axis, got 3; use true "
                  "to reshard over all of them"});
  request.reshard.ranks = 0;
  EXPECT_EQ(getRefusals(t.tree, request),
            Texts{"FS-E02: 'reshard-after-forward' must be true, false or a "
                  "divisor of the 8 ranks of the shard axis, got 0; use false "
                  "to keep parameters gathered"});
}

TEST(FsdpPartition, DimensionsOfTheMesh_E03) {
  TreeBuilder t;
  unsigned linear = t.add("Linear");
  t.addTensor(linear, "bf16");
  FsdpRequest request = makeRequest({{{linear}}});
  request.mesh = {2, 2, 2};
  EXPECT_EQ(getRefusals(t.tree, request),
            Texts{"FS-E03: the mesh of an FSDP unit must have 1 or 2 "
                  "dimensions, got 3; flatten the axes that parameters are "
                  "sharded over into one"});
}

TEST(FsdpPartition, ContainersAndScalars_E04) {
  TreeBuilder t;
  unsigned list = t.add("ModuleList");
  unsigned linear = t.add("Linear", list, "0");
  unsigned scale = t.addTensor(linear, "bf16", "scale");
  t.tree.tensors[scale].shape.emplace();
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{list}}})),
            (Texts{"FS-E04: the root module is a ModuleList without a forward, "
                   "expected a module that is called; shard its members "
                   "instead",
                   "FS-E04: parameter \"0.scale\" is a scalar, expected at "
                   "least one dimension; store it with shape [1]"}));
}

TEST(FsdpPartition, OneOwner_E05) {
  TreeBuilder t;
  unsigned root = t.add("Model");
  unsigned a = t.add("Linear", root, "a"), b = t.add("Linear", root, "b");
  unsigned shared = t.addTensor(a, "bf16");
  t.tree.modules[b].tensors.push_back({"weight", shared});
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{a}}, {{b}}})),
            Texts{"FS-E05: parameter \"a.weight\" is in unit 0 and in unit 1, "
                  "expected one; shard the modules that share it by one call "
                  "on a list"});
  // The advice works.
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{a, b}, true}})), Texts());
}

TEST(FsdpPartition, MembersOfAGroup_E06) {
  TreeBuilder t;
  unsigned root = t.add("Model");
  unsigned a = t.add("Linear", root, "a"), b = t.add("Linear", root, "b");
  unsigned inner = t.add("Linear", a, "inner");
  t.addTensor(inner, "bf16");
  t.addTensor(b, "bf16");
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{}, true}})),
            Texts{"FS-E06: a group unit must have at least one module, got "
                  "none; leave the call out"});
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{b, b}, true}})),
            Texts{"FS-E06: module \"b\" occurs twice in a group unit, expected "
                  "once; remove one of the two"});
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{b}}, {{b, inner}, true}})),
            Texts{"FS-E06: module \"b\" of a group unit is a unit already; "
                  "leave it out of the group"});
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{a, inner}, true}})),
            Texts{"FS-E06: module \"a.inner\" of a group unit lies below module "
                  "\"a\" of the same group; leave the inner one out"});
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{root}, true}})),
            Texts{"FS-E06: the root module is in a group unit, expected "
                  "modules below it; shard the root by a call of its own"});
}

TEST(FsdpPartition, NestedIslandsAndOrder_E07) {
  TreeBuilder t;
  unsigned block = t.add("DeepseekV4Block");
  unsigned wq = t.add("Linear", block, "wq");
  t.addTensor(wq, "bf16");
  unsigned outer = t.add("HyperConnection", block, "attn_hc");
  t.addTensor(t.add("Norm", outer, "norm1"), "f32");
  EXPECT_EQ(getRefusals(t.tree, makeRequest({{{block}}})),
            Texts{"FS-E07: module \"attn_hc.norm1\" is an fp32 island inside "
                  "module \"attn_hc\", which is one too, expected islands side "
                  "by side; rename one of the two"});

  TreeBuilder u;
  unsigned model = u.add("Model");
  u.addTensor(model, "bf16");
  unsigned child = u.add("Linear", model, "child");
  u.addTensor(child, "bf16");
  EXPECT_EQ(getRefusals(u.tree, makeRequest({{{model}}, {{child}}})),
            Texts{"FS-E07: module \"child\" is sharded after the root module, "
                  "which contains it, expected children first; swap the two "
                  "calls"});
  EXPECT_EQ(getRefusals(u.tree, makeRequest({{{child}}, {{model}}})), Texts());
}

TEST(FsdpPartition, HoldersKeepTheirParameter_E08) {
  TreeBuilder t;
  unsigned root = t.add("Model");
  unsigned a = t.add("DeepseekV4FP32Parameter", root, "a");
  t.addTensor(a, "f32");
  FsdpRequest request = makeRequest({{{a}, true}});
  request.reshard = {FsdpReshard::True};
  EXPECT_EQ(getRefusals(t.tree, request),
            Texts{"FS-E08: module \"a\" returns its parameter, so its unit must "
                  "have 'reshard-after-forward' false; give false for it"});
  request.reshard = {FsdpReshard::False};
  EXPECT_EQ(getRefusals(t.tree, request), Texts());
}

TEST(FsdpPartition, PolicyIsNeeded_E09) {
  TreeBuilder t;
  unsigned linear = t.add("Linear");
  t.addTensor(linear, "bf16");
  FsdpRequest request = makeRequest({{{linear}}});
  request.policy.reset();
  EXPECT_EQ(getRefusals(t.tree, request),
            Texts{"FS-E09: the precision policy is missing, expected param, "
                  "reduce and output dtypes; give 'param-dtype'"});
}

TEST(FsdpPartition, WrappedModuleIsReturnedUnchanged_T24) {
  TreeBuilder t;
  unsigned block = t.add("DeepseekV4Block");
  t.addTensor(block, "bf16");
  t.addTensor(t.add("HyperConnection", block, "attn_hc"), "f32");
  FsdpRequest request = makeRequest({{{block}}});
  request.wrapped = {block};
  EXPECT_EQ(FsdpPartition::compute(t.tree, request).getUnits().size(), 0u);
  EXPECT_EQ(getRefusals(t.tree, request), Texts());
}

} // namespace
