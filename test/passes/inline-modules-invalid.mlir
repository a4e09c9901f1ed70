// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-inline-modules

// Graph regions allow a module that yields its own result.

// expected-error @below {{'dsv4.module' op yields a value that depends only on its own result, expected an operation}}
%0 = dsv4.module "a" class "A" -> tensor<f32> {
  dsv4.yield %0 : tensor<f32>
}

// -----

// expected-error @below {{'dsv4.module' op yields a value that depends only on its own result, expected an operation}}
%0 = dsv4.module "a" class "A" -> tensor<f32> {
  dsv4.yield %1 : tensor<f32>
}
%1 = dsv4.module "b" class "B" -> tensor<f32> {
  dsv4.yield %0 : tensor<f32>
}
