// RUN: dsv4-opt %s -split-input-file -verify-diagnostics -dsv4-report-units
// RUN: not dsv4-opt %s -dsv4-report-units=format=xml 2>&1 | FileCheck %s --check-prefix=FORMAT

// FORMAT: error: 'format' must be "text" or "json", got "xml"

module attributes {dsv4.root_class = "Model"} {
  dsv4.mesh @mesh []
  // expected-error @+1 {{'dsv4.fsdp_unit' op has parameter "a.w" without a shape, expected one to count bytes; give it 'shape' in the module tree}}
  dsv4.fsdp_unit @unit_0 roots [""] on @mesh [] params ["a.w"] gather bf16 reduce f32
  dsv4.module "a" class "Linear" attributes {dsv4.tensors = [{name = "w", type = bf16}]} {
    dsv4.yield
  }
}

// -----

dsv4.mesh @mesh []
// expected-error @+1 {{'dsv4.fsdp_unit' op has parameter "a.w", which is declared nowhere}}
dsv4.fsdp_unit @unit_0 roots ["a"] on @mesh [] params ["a.w"] gather bf16 reduce f32
