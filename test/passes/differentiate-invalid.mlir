// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-differentiate

// What has no rule, and what the easy rule would turn into a silent zero.

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

func.func @no_rule(%w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %shape = arith.constant dense<4> : tensor<1xi32>
  // expected-error @below {{'tensor.reshape' op has no differentiation rule}}
  // expected-note @below {{it lies on the path from the loss to a parameter: loss, 'linalg.generic', model.head, parameter "m.w"}}
  %r = tensor.reshape %w(%shape) {dsv4.path = "model.head"} : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%r : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

func.func @no_scalar_rule(%w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-note @below {{it lies on the path from the loss to a parameter: loss, 'linalg.generic', parameter "m.w"}}
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%w : tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    // expected-error @below {{'math.floor' op has no differentiation rule}}
    %f = math.floor %a : f32
    %s = arith.addf %c, %f : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

func.func @captured(%ids: tensor<4xindex> {dsv4.batch = "ids"}, %w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{'linalg.generic' op reads a float tensor in its region, expected an operand, whose gradient is known}}
  // expected-note @below {{it lies on the path from the loss to a parameter: loss, 'linalg.generic', parameter "m.w"}}
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%ids : tensor<4xindex>) outs(%zero : tensor<f32>) {
  ^bb0(%i: index, %c: f32):
    %a = tensor.extract %w[%i] : tensor<4xf32>
    %s = arith.addf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

func.func @max_reduction(%w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %low = arith.constant dense<0xFF800000> : tensor<f32>
  // expected-error @below {{'linalg.generic' op accumulates in another way than by adding to its result, which has no differentiation rule}}
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%w : tensor<4xf32>) outs(%low : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    // expected-note @below {{mark the operation 'dsv4.no_grad' if the loss does not depend on this value, as on the shift of a softmax}}
    %s = arith.maximumf %c, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// c + c * a is a product in disguise.
func.func @not_additive(%w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %one = arith.constant dense<1.0> : tensor<f32>
  // expected-error @below {{'linalg.generic' op accumulates in another way than by adding to its result, which has no differentiation rule}}
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%w : tensor<4xf32>) outs(%one : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    %p = arith.mulf %c, %a : f32
    // expected-note @below {{mark the operation 'dsv4.no_grad' if the loss does not depend on this value, as on the shift of a softmax}}
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

func.func @several_results(%w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{'linalg.generic' op has 2 results, expected 1 where a gradient passes}}
  %l:2 = linalg.generic {indexing_maps = [#id, #none, #none], iterator_types = ["reduction"]}
      ins(%w : tensor<4xf32>) outs(%zero, %zero : tensor<f32>, tensor<f32>) {
  ^bb0(%a: f32, %c: f32, %d: f32):
    %s = arith.addf %c, %a : f32
    %t = arith.addf %d, %a : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  return %l#0 : tensor<f32>
}

// -----

#cube = affine_map<(b, t, i) -> (b, t, i)>
#none = affine_map<(b, t, i) -> ()>

// The only path from the scores goes through the choice.
func.func @choice(%x: tensor<1x1x4xf32> {dsv4.batch = "x"},
    // expected-error @below {{parameter "m.scores" is not marked 'dsv4.frozen', but every path from it to the loss ends in an edge without gradient}}
    %s: tensor<1x1x4xf32> {dsv4.param = "m.scores"}, %w: tensor<1x1x4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %e = tensor.empty() : tensor<1x1x2xi64>
  // expected-note @below {{operand 0 of 'dsv4.topk' has no gradient because its results are no floats}}
  %i = dsv4.topk ins(%s : tensor<1x1x4xf32>) outs(%e : tensor<1x1x2xi64>) -> tensor<1x1x2xi64>
  %f = tensor.empty() : tensor<1x1x2xf32>
  %t = dsv4.take_along ins(%w, %i : tensor<1x1x4xf32>, tensor<1x1x2xi64>) outs(%f : tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.generic {indexing_maps = [#cube, #none], iterator_types = ["reduction", "reduction", "reduction"]} ins(%t : tensor<1x1x2xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    %q = arith.addf %c, %a : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @below {{parameter "m.w" is not marked 'dsv4.frozen', but the loss does not depend on it}}
func.func @unused(%w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  return %zero : tensor<f32>
}

// -----

// expected-error @below {{'func.func' op must return the loss as a tensor of one float, got 'tensor<4xf32>'}}
func.func @vector_loss(%w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<4xf32> {dsv4.result = "loss"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op returns gradients already}}
func.func @twice(%w: tensor<f32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}, tensor<f32> {dsv4.result = "grad/m.w"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

// expected-error @below {{no function has a result with 'dsv4.result' = "loss", expected one}}
module {
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// One use of the parameter's sum is alike on all ranks, the other is not: the
// cotangent is a partial sum only in part.
dsv4.mesh @mesh ["cp" = 2]
func.func @undecided(%x: tensor<4xf32> {dsv4.batch = "x", dsv4.layout = [["cp"]], dsv4.global_type = tensor<8xf32>},
    %w: tensor<4xf32> {dsv4.param = "m.w"}) -> (tensor<f32> {dsv4.result = "loss"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  // expected-error @below {{'linalg.generic' op contributes to the cotangent of an operand as a partial sum over {"cp"}, but other uses contribute one over {}, expected all uses to be alike}}
  %own = linalg.generic {indexing_maps = [#id, #id, #none], iterator_types = ["reduction"]}
      ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %all = dsv4.all_reduce sum %own on @mesh ["cp"] : tensor<f32>
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%w : tensor<4xf32>) outs(%all : tensor<f32>) {
  ^bb0(%a: f32, %c: f32):
    %q = arith.addf %c, %a : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
