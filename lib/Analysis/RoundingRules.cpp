//===- RoundingRules.cpp - where the model may round ----------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Analysis/RoundingRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::dsv4;

static constexpr RoundedKind kContraction = RoundedKind::Contraction;
static constexpr RoundedKind kPool = RoundedKind::Pool;
static constexpr RoundedKind kCombine = RoundedKind::Combine;
static constexpr RoundedKind kElementwise = RoundedKind::Elementwise;
static constexpr RoundedIn kAlways = RoundedIn::Always;
static constexpr RoundedIn kIslands = RoundedIn::Islands;
static constexpr RoundedIn kAutomodel = RoundedIn::Automodel;

/// Bits of `wideInputs`. The second input of a norm is the inverse root of
/// the mean square; `pre`, `post` and the mixed streams come from the maps.
static constexpr unsigned kInverseRms = 0b010;
static constexpr unsigned kPre = 0b001;
static constexpr unsigned kPostAndMixed = 0b101;
static constexpr unsigned kRowWeight = 0b100;
static constexpr unsigned kRouted = 0b001;

/// Steps of the definition: 2.1 to 2.9, and where `automodel` stands, 2.13.
static constexpr RoundingRule kRules[] = {
    {"A1", "self_attn", kContraction, 2},
    {"A2", "self_attn", kElementwise, 3, kAlways, kInverseRms},
    {"A3", "self_attn", kContraction, 2},
    {"A4", "self_attn", kElementwise, 2, kAlways, kInverseRms},
    {"A6", "self_attn", kContraction, 2},
    {"A6 norm", "self_attn", kElementwise, 3, kAlways, kInverseRms},
    {"A10", "self_attn", kContraction, 2},
    {"A11", "self_attn", kContraction, 2},
    {"C6", "self_attn.compressor", kPool, 3},
    {"C6 norm", "self_attn.compressor", kElementwise, 3, kAlways, kInverseRms},
    {"I1", "compressor.indexer", kPool, 3},
    {"I1 norm", "compressor.indexer", kElementwise, 3, kAlways, kInverseRms},
    {"I2", "compressor.indexer", kContraction, 2},
    {"I3", "compressor.indexer", kContraction, 2},
    {"H collapse", "layers.#", kContraction, 2, kAlways, kPre},
    {"H collapse", "model", kContraction, 2, kAlways, kPre},
    {"H expand", "layers.#", kElementwise, 3, kIslands, kPostAndMixed},
    {"H expand", "layers.#", kElementwise, 2, kAutomodel},
    {"H expand post", "layers.#", kElementwise, 1, kAutomodel},
    {"H expand comb", "layers.#", kElementwise, 1, kAutomodel},
    {"H expand product", "layers.#", kElementwise, 2, kAutomodel},
    {"H expand mix", "layers.#", kContraction, 2, kAutomodel},
    {"RMSNorm", "input_layernorm", kElementwise, 3, kAlways, kInverseRms},
    {"RMSNorm", "post_attention_layernorm", kElementwise, 3, kAlways, kInverseRms},
    {"RMSNorm", "model.norm", kElementwise, 3, kAlways, kInverseRms},
    {"M3", "mlp.gate", kElementwise, 1, kAutomodel},
    {"M4", "mlp.experts", kContraction, 3},
    {"M4 act", "mlp.experts", kElementwise, 3, kIslands, kRowWeight},
    {"M4 act", "mlp.experts", kElementwise, 3, kAutomodel},
    {"M4 down", "mlp.experts", kContraction, 3},
    {"M5", "mlp", kCombine, 4, kAutomodel},
    {"M6 gate", "mlp.shared_experts", kContraction, 2},
    {"M6 up", "mlp.shared_experts", kContraction, 2},
    {"M6 act", "mlp.shared_experts", kElementwise, 2},
    {"M6 down", "mlp.shared_experts", kContraction, 2},
    {"M7", "mlp", kElementwise, 2, kIslands, kRouted},
    {"M7", "mlp", kElementwise, 2, kAutomodel},
    {"logits", "lm_head", kContraction, 2, kAutomodel},
};

StringRef dsv4::getRoundedKindName(RoundedKind kind) {
  switch (kind) {
  case RoundedKind::Contraction:
    return "the result of a contraction";
  case RoundedKind::Pool:
    return "the result of 'dsv4.pool_windows'";
  case RoundedKind::Combine:
    return "the result of 'dsv4.combine_rows'";
  case RoundedKind::Elementwise:
    return "an elementwise result";
  }
  llvm_unreachable("unknown kind of rounding");
}

ArrayRef<RoundingRule> dsv4::getRoundingRules() { return kRules; }

bool dsv4::isRoundingLabel(StringRef label) {
  return llvm::any_of(kRules, [&](const RoundingRule &rule) {
    return rule.label == label;
  });
}

bool dsv4::isAtPlace(StringRef path, StringRef place) {
  while (true) {
    auto [pathRest, component] = path.rsplit('.');
    auto [placeRest, expected] = place.rsplit('.');
    // Without a dot, rsplit puts the whole into the first part.
    bool isFirst = !path.contains('.'), isLast = !place.contains('.');
    if (isFirst)
      component = path;
    if (isLast)
      expected = place;
    uint64_t number = 0;
    if (expected == "#" ? component.getAsInteger(10, number)
                        : component != expected)
      return false;
    if (isLast)
      return true;
    if (isFirst)
      return false;
    path = pathRest;
    place = placeRest;
  }
}
